//! What it costs that a call which is stopped costs nothing: the images of the module's memory, and the rebuilding.

use std::time::{Duration, Instant};

use lockless_wasm::{Limits, Machine, Reply};

use crate::harness::{Context, interrupt};
use crate::results::{Figure, GroupResult, Table};
use crate::{Error, failed};

const START_US: u64 = 1_767_225_600_000_000;
const ROOT: &[u8] = b"scheduler:{main}";
/// A call that ends its instance at once, so that what it takes is the rebuilding.
const POISON: &[u8] = b"#!lua name=poison\nredis.register_function('poison', function()
  return string.match(string.rep('a', 100000), string.rep('a?', 100000)) end)";
/// Payload and result.
const JOB_BYTES: usize = 1024;

struct Cell {
    machine: Machine,
}

impl Cell {
    fn start(jobs: usize) -> Result<Cell, Error> {
        let machine = Machine::start(Limits::default(), START_US).map_err(failed("the module"))?;
        let mut cell = Cell { machine };
        cell.command(&[b"FUNCTION", b"LOAD", POISON])?;
        for number in 0..100 {
            let node = format!("node-{number}");
            cell.fcall(b"lockless_register", &[node.as_bytes(), b"4"])?;
        }
        let payload = vec![b'x'; JOB_BYTES];
        for _ in 0..jobs {
            cell.job(&payload)?;
        }
        Ok(cell)
    }

    fn command(&mut self, words: &[&[u8]]) -> Result<Reply, Error> {
        match self.machine.call(words, START_US) {
            Ok(Reply::Error(line)) => Err(Error::unexpected("a call", &line)),
            Ok(reply) => Ok(reply),
            Err(stopped) => Err(Error::unexpected("a call", &stopped)),
        }
    }

    fn fcall(&mut self, function: &[u8], args: &[&[u8]]) -> Result<Reply, Error> {
        let words = [&[b"FCALL", function, b"1", ROOT], args].concat();
        self.command(&words)
    }

    /// One whole job; returns how long its longest call took.
    fn job(&mut self, payload: &[u8]) -> Result<Duration, Error> {
        interrupt::check()?;
        let began = Instant::now();
        let reply = self.fcall(b"lockless_dispatch", &[b"session", b"-", b"-", payload])?;
        let longest = began.elapsed();
        let Reply::Array(items) = &reply else {
            return Err(Error::unexpected("a dispatch", &format!("{reply:?}")));
        };
        let [Reply::Bulk(node), Reply::Bulk(job)] = items.as_slice() else {
            return Err(Error::unexpected("a dispatch", &format!("{reply:?}")));
        };
        let began = Instant::now();
        let words: [&[u8]; 5] = [job, node, b"finished", b"RESULT", payload];
        self.fcall(b"lockless_complete", &words)?;
        Ok(longest.max(began.elapsed()))
    }

    /// Has the instance end, and says how long it takes until the machine goes on.
    fn rebuilt_ms(&mut self) -> Result<f64, Error> {
        let began = Instant::now();
        let stopped = self.machine.call(&[b"FCALL", b"poison", b"0"], START_US);
        let took = began.elapsed();
        match stopped {
            Ok(_) => Err(Error::unexpected("the poison", &"it did no harm")),
            Err(_) => Ok(took.as_secs_f64() * 1e3),
        }
    }
}

/// Rebuilds machines that hold little and much.
pub(super) fn run(context: &mut Context, result: &mut GroupResult) -> Result<(), Error> {
    let sizes: &[usize] = context
        .effort
        .pick(&[50], &[1_000, 5_000], &[1_000, 50_000]);
    let rounds = context.effort.pick(2_u32, 5, 10);
    let payload = vec![b'x'; JOB_BYTES];
    let mut table = Table::measuring(
        "The WebAssembly host after a call that was stopped",
        "ms",
        "rebuilt in",
    );
    let mut images = Table::measuring("An image of the module's memory", "ms", "taken in");
    for &jobs in sizes {
        let mut cell = Cell::start(jobs)?;
        let (mut longest, mut rebuilt) = (Duration::ZERO, Vec::new());
        for round in 0..rounds {
            // So that it is rebuilt at every distance from the last image.
            let until = Instant::now() + Duration::from_millis(100) * round;
            while Instant::now() < until {
                longest = longest.max(cell.job(&payload)?);
            }
            rebuilt.push(cell.rebuilt_ms()?);
        }
        let mut taken = Vec::new();
        for _ in 0..rounds {
            let began = Instant::now();
            cell.machine.snapshot().map_err(failed("an image"))?;
            taken.push(began.elapsed().as_secs_f64() * 1e3);
        }
        let what = format!("with {jobs} finished jobs of 2 KiB");
        let worst = rebuilt.iter().copied().fold(0.0, f64::max);
        let mib = (cell.machine.used_bytes() >> 20) as f64;
        let figure = Figure::measured(&format!("hosts/rebuilt-{jobs}"), what.clone(), &rebuilt)
            .with("worst, ms", worst)
            .with("longest call between, ms", longest.as_secs_f64() * 1e3)
            .with("Lua memory, MiB", mib);
        context.add(&mut table, figure);
        let figure = Figure::measured(&format!("hosts/image-{jobs}"), what, &taken);
        context.add(&mut images, figure.with("Lua memory, MiB", mib));
    }
    result.tables.extend([table, images]);
    Ok(())
}
