//! The commands inside dispatches, recorded once and then sent natively.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use redis::Cmd;

use crate::Error;
use crate::cell::{Cell, Granted, ROOT, granted};
use crate::link::Server;
use crate::rounds::Micros;

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
        let undo = undo(&jobs);
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

    /// Processor time per dispatch when its commands are sent natively, those of so many dispatches per pipeline. The
    /// cell is afterwards as before.
    pub fn cpu_cost(&self, cell: &mut Cell, pipelined: usize) -> Result<Micros, Error> {
        let size = self.commands.len() * pipelined / self.dispatches;
        let link = cell.link();
        let before = link.cpu_seconds()?;
        link.in_chunks(&self.commands, size)?;
        let spent = link.cpu_seconds()? - before;
        link.all(&self.undo)?;
        Ok(spent * 1e6 / self.dispatches as f64)
    }
}

/// Processor time per dispatch by FCALL, so many per pipeline. The cell is afterwards as before.
pub fn cpu_cost_of_fcall(
    cell: &mut Cell,
    dispatches: usize,
    pipelined: usize,
) -> Result<Micros, Error> {
    let commands = cell.dispatches(dispatches, &[]);
    let link = cell.link();
    let before = link.cpu_seconds()?;
    let replies = link.in_chunks(&commands, pipelined)?;
    let spent = link.cpu_seconds()? - before;
    let jobs = granted(replies)?;
    cell.complete(&jobs)?;
    cell.all(&undo(&jobs))?;
    Ok(spent * 1e6 / dispatches as f64)
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
