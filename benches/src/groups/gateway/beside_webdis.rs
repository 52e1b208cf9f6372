//! The same calls with wrk, through the gateway and through webdis.

use std::fs;
use std::process::Command;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::cell::{PAYLOAD, ROOT, node};
use crate::harness::{Context, interrupt};
use crate::link::{Link, Server};
use crate::load::Stage;
use crate::processes::Gateway;
use crate::results::{Figure, Table, Target};
use crate::webdis::Webdis;
use crate::{Error, failed};

const CONNECTIONS: usize = 50;
const NODES: usize = 1000;
/// More than any run takes, so that no dispatch is refused.
const SLOTS_PER_NODE: u32 = 200;

/// One call, as each of the two takes it.
struct Call {
    id: &'static str,
    /// Our path, and the body of a POST.
    ours: (String, Option<String>),
    /// The words of the FCALL after the cell.
    words: Vec<String>,
}

pub(super) fn run(
    context: &mut Context,
    server: &mut Server,
    gateway: &Gateway,
) -> Result<Table, Error> {
    let mut stage = Stage::on_server(server.port(), NODES, SLOTS_PER_NODE)?;
    let mut link = server.link()?;
    let webdis = Webdis::start(server.port())?;
    let title = format!("Requests for one FCALL at {CONNECTIONS} connections that are kept (wrk)");
    let mut table = Table::comparing(&title, "per second", "the gateway", "webdis");
    for call in calls() {
        let ours = Load::new(gateway.port, &call.ours.0, call.ours.1.as_deref())?;
        let theirs = Load::new(webdis.port, &call.path_of_webdis(), None)?;
        let time = context.effort.pick("1s", "1s", "2s");
        let what = format!("lockless_{}", call.id);
        let measured = context.in_turn(&what, 2, |side| {
            // What the run before placed is gone, so that both find the same cell.
            stage.prepare()?;
            let load = if side == 0 { &ours } else { &theirs };
            load.run(time, &mut link)
        })?;
        let id = format!("gateway/webdis-{}", call.id);
        let figure = Figure::compared(&id, what, measured.side(0), measured.side(1));
        context.add(&mut table, figure.held_to(Target::AtLeast(1.0)));
    }
    Ok(table)
}

fn calls() -> [Call; 3] {
    let body = format!(r#"{{"session":"session-1","src":"en","tgt":"zh","payload":{PAYLOAD}}}"#);
    [
        Call {
            id: "version",
            ours: ("/v1/version".to_owned(), None),
            words: Vec::new(),
        },
        Call {
            id: "node",
            ours: (format!("/v1/nodes/{}", node(0)), None),
            words: vec![node(0)],
        },
        Call {
            id: "dispatch",
            ours: ("/v1/jobs".to_owned(), Some(body)),
            words: ["session-1", "en", "zh", PAYLOAD]
                .map(str::to_owned)
                .to_vec(),
        },
    ]
}

impl Call {
    /// webdis takes a command as a path, one word after the other.
    fn path_of_webdis(&self) -> String {
        let mut path = format!("/FCALL/lockless_{}/1/{}", self.id, escaped(ROOT));
        for word in &self.words {
            path.push('/');
            path.push_str(&escaped(word));
        }
        path
    }
}

fn escaped(word: &str) -> String {
    utf8_percent_encode(word, NON_ALPHANUMERIC).to_string()
}

/// Requests that wrk makes.
struct Load {
    url: String,
    script: tempfile::NamedTempFile,
}

impl Load {
    /// To this path, as a POST when there is a body.
    fn new(port: u16, path: &str, body: Option<&str>) -> Result<Self, Error> {
        let script = tempfile::NamedTempFile::new().map_err(failed("a script for wrk"))?;
        let text = match body {
            Some(body) => format!(
                "wrk.method = 'POST'\nwrk.body = [[{body}]]\nwrk.headers['Content-Type'] = 'application/json'\n"
            ),
            None => String::new(),
        };
        fs::write(script.path(), text).map_err(failed("a script for wrk"))?;
        Ok(Load {
            url: format!("http://127.0.0.1:{port}{path}"),
            script,
        })
    }

    /// Requests per second. webdis tells of an error of Redis with a 200 too, so the server is asked whether there was one.
    fn run(&self, time: &str, link: &mut Link) -> Result<f64, Error> {
        interrupt::check()?;
        link.begin()?;
        let output = Command::new("wrk")
            .args(["-t2", &format!("-c{CONNECTIONS}"), &format!("-d{time}")])
            // On a busy machine an answer takes long, and that is what is measured.
            .args(["--timeout", "60s", "-s"])
            .arg(self.script.path())
            .arg(&self.url)
            .output()
            .map_err(failed("wrk"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = |begin| {
            text.lines()
                .find_map(|line| line.trim().strip_prefix(begin))
        };
        // A request that was not answered, or not with what was asked for.
        if let Some(failures) = line("Non-2xx").or_else(|| line("Socket errors")) {
            return Err(Error::unexpected(format!("wrk on {}", self.url), &failures));
        }
        let refused = link.failed_fcalls()?;
        if refused > 0.0 {
            return Err(Error::unexpected(format!("wrk on {}", self.url), &refused));
        }
        let rate = line("Requests/sec:").and_then(|rate| rate.trim().parse().ok());
        rate.ok_or_else(|| Error::unexpected("wrk", &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_the_same_fcall_for_both() {
        let [version, node, dispatch] = calls();
        assert_eq!(
            version.path_of_webdis(),
            "/FCALL/lockless_version/1/scheduler%3A%7Bmain%7D"
        );
        assert!(node.path_of_webdis().ends_with("/node%2D000000"));
        assert!(
            dispatch
                .path_of_webdis()
                .contains("/session%2D1/en/zh/%7B%22text")
        );
    }
}
