//! The commands inside dispatches, recorded once and then sent natively.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use redis::Cmd;

use crate::cell::{Cell, Granted, ROOT, granted};
use crate::link::Server;
use crate::rounds::Cost;
use crate::{Error, failed};

const END: &str = "end-of-the-recording";

/// The inner commands of dispatches, ready to be sent again and again.
pub struct Recording {
    commands: Vec<Cmd>,
    undo: Vec<Cmd>,
    dispatches: usize,
}

impl Recording {
    /// Dispatches so many jobs, notes every command inside, and takes their traces out of the cell.
    pub fn of(server: &Server, cell: &mut Cell, dispatches: usize) -> Result<Self, Error> {
        let failed = |source: std::io::Error| Error::unexpected("MONITOR", &source);
        let mut monitor = TcpStream::connect(("127.0.0.1", server.port())).map_err(failed)?;
        monitor.write_all(b"MONITOR\r\n").map_err(failed)?;
        let mut lines = BufReader::new(monitor).split(b'\n');
        // Its OK: from here on it sees everything.
        lines.next();
        let jobs = cell.dispatch(dispatches, &[])?;
        cell.link().one(redis::cmd("ECHO").arg(END))?;

        let mut commands = Vec::new();
        for line in lines {
            let line = line.map_err(failed)?;
            let text = String::from_utf8_lossy(&line);
            if text.contains(END) {
                break;
            }
            if let Some((_, quoted)) = text.split_once(" lua] ") {
                commands.push(parsed(quoted));
            }
        }
        cell.complete(&jobs)?;
        let mut undo = undo(&jobs);
        for command in &commands {
            undo.extend(put_back(cell, command)?);
        }
        cell.all(&undo)?;
        Ok(Recording {
            commands,
            undo,
            dispatches,
        })
    }

    /// Commands per dispatch.
    pub fn commands_per_dispatch(&self) -> f64 {
        self.commands.len() as f64 / self.dispatches as f64
    }

    /// Server time per dispatch when its commands are sent natively, without what the protocol takes. The cell is
    /// afterwards as before.
    pub fn cost(&self, cell: &mut Cell) -> Result<Cost, Error> {
        let link = cell.link();
        link.begin()?;
        link.all(&self.commands)?;
        let spent = link.micros_of_all()?;
        link.all(&self.undo)?;
        Ok(spent / self.dispatches as f64)
    }

    /// Processor time per dispatch when its commands are sent natively, those of so many dispatches per pipeline. The
    /// cell is afterwards as before.
    pub fn processor_cost(&self, cell: &mut Cell, pipelined: usize) -> Result<Cost, Error> {
        let size = self.commands.len() * pipelined / self.dispatches;
        let link = cell.link();
        let before = link.processor()?;
        link.in_chunks(&self.commands, size)?;
        let spent = link.processor()? - before;
        link.all(&self.undo)?;
        Ok(spent / self.dispatches as f64)
    }
}

/// Processor time per dispatch by FCALL, so many per pipeline. The cell is afterwards as before.
pub fn processor_cost_of_fcall(
    cell: &mut Cell,
    dispatches: usize,
    pipelined: usize,
) -> Result<Cost, Error> {
    let commands = cell.dispatches(dispatches, &[]);
    let link = cell.link();
    let before = link.processor()?;
    let replies = link.in_chunks(&commands, pipelined)?;
    let spent = link.processor()? - before;
    let jobs = granted(replies)?;
    cell.complete(&jobs)?;
    cell.all(&undo(&jobs))?;
    Ok(spent / dispatches as f64)
}

/// What gives a node the place in the ready index that it has now, if the command would move it: else the same command would find it
/// moved already, and cost less than in a dispatch.
fn put_back(cell: &mut Cell, command: &Cmd) -> Result<Option<Cmd>, Error> {
    let words: Vec<Vec<u8>> = command
        .args_iter()
        .map(|arg| match arg {
            redis::Arg::Simple(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        })
        .collect();
    let ready = format!("{ROOT}:ready:");
    let [name, key, _, member] = words.as_slice() else {
        return Ok(None);
    };
    if name != b"ZADD" || !key.starts_with(ready.as_bytes()) {
        return Ok(None);
    }
    let score = cell.link().one(redis::cmd("ZSCORE").arg(key).arg(member))?;
    let score: String = redis::from_redis_value(score).map_err(failed("ZSCORE"))?;
    let mut back = redis::cmd("ZADD");
    back.arg(key).arg(score).arg(member);
    Ok(Some(back))
}

/// What takes jobs out of a cell, whether they were completed or not.
fn undo(jobs: &[Granted]) -> Vec<Cmd> {
    let record = |it: &Granted| {
        let mut command = redis::cmd("DEL");
        command.arg(format!("{ROOT}:job:{}", it.job));
        command
    };
    let hold = |it: &Granted| {
        let mut command = redis::cmd("ZREM");
        command.arg(format!("{ROOT}:node:slots:{}", it.node));
        command.arg(format!("j{}", it.job));
        command
    };
    jobs.iter().flat_map(|it| [record(it), hold(it)]).collect()
}

/// A command as MONITOR prints it: quoted arguments with C's escapes.
fn parsed(quoted: &str) -> Cmd {
    let mut command = Cmd::new();
    let mut argument = Vec::new();
    let mut inside = false;
    let mut bytes = quoted.bytes();
    while let Some(byte) = bytes.next() {
        match (inside, byte) {
            (false, b'"') => inside = true,
            (true, b'"') => {
                inside = false;
                command.arg(&argument[..]);
                argument.clear();
            }
            (true, b'\\') => argument.push(match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'a') => 7,
                Some(b'b') => 8,
                Some(b'x') => {
                    let digits = [bytes.next(), bytes.next()].map(|it| it.unwrap_or(b'0') as char);
                    let digits: String = digits.iter().collect();
                    u8::from_str_radix(&digits, 16).unwrap_or(0)
                }
                Some(other) => other,
                None => break,
            }),
            (true, other) => argument.push(other),
            (false, _) => {}
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_monitor_becomes_the_command_it_shows() {
        let command = parsed("\"HSET\" \"k\" \"a \\\"b\\\"\" \"\\x00\\n\\\\\"");
        let mut wanted = Cmd::new();
        wanted
            .arg("HSET")
            .arg("k")
            .arg("a \"b\"")
            .arg(&b"\0\n\\"[..]);
        assert_eq!(command.get_packed_command(), wanted.get_packed_command());
    }
}
