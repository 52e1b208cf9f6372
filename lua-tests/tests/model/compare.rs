//! Both models and a real server that get the same commands.

use lockless_lua_tests::{Host, InProcess, Model, Real, Reply, Wasm};
use lockless_servers::Standalone;

/// How far apart two readings of a TTL may be: the model's clock stands still between commands, the server's does not.
const TTL_TOLERANCE_MS: i64 = 5_000;

/// Replies that Redis gives in no order.
const UNORDERED: [&str; 4] = ["SMEMBERS", "SINTER", "KEYS", "HKEYS"];

pub(crate) struct Hosts {
    models: [Box<dyn Model>; 2],
    real: Real,
    context: String,
    differences: Vec<String>,
    _server: Standalone,
}

fn words<const N: usize>(words: [&str; N]) -> Vec<Vec<u8>> {
    words.map(|word| word.as_bytes().to_vec()).to_vec()
}

fn shown(command: &[Vec<u8>]) -> String {
    let words: Vec<String> = command
        .iter()
        .map(|word| word.escape_ascii().to_string())
        .collect();
    words.join(" ")
}

/// The reply in a form that can be compared: what has no order is sorted.
fn settled(name: &str, reply: Reply) -> Reply {
    let Reply::Array(mut items) = reply else {
        return reply;
    };
    let text = |reply: &Reply| format!("{reply:?}");
    if UNORDERED.contains(&name) {
        items.sort_by_key(text);
    } else if name == "HGETALL" {
        let mut pairs: Vec<Vec<Reply>> = items.chunks(2).map(<[Reply]>::to_vec).collect();
        pairs.sort_by_key(|pair| text(&pair[0]));
        items = pairs.concat();
    }
    Reply::Array(items)
}

fn alike(name: &str, model: &Reply, real: &Reply) -> bool {
    match (model, real) {
        (Reply::Int(model), Reply::Int(real)) if name == "PTTL" && *model > 0 && *real > 0 => {
            (model - real).abs() <= TTL_TOLERANCE_MS
        }
        _ => model == real,
    }
}

impl Hosts {
    pub(crate) fn start() -> Hosts {
        let server = Standalone::builder().private().start().unwrap();
        let real = Real::standalone(&server.url()).unwrap();
        let models: [Box<dyn Model>; 2] = [
            Box::new(InProcess::empty().unwrap()),
            Box::new(Wasm::empty().unwrap()),
        ];
        Hosts {
            models,
            real,
            context: String::new(),
            differences: Vec::new(),
            _server: server,
        }
    }

    /// Empties all and sets the models' clocks to the server's.
    pub(crate) fn start_afresh(&mut self) {
        self.real.command(&words(["FLUSHALL"])).unwrap();
        let Reply::Array(time) = self.real.command(&words(["TIME"])).unwrap() else {
            panic!("TIME gave no list")
        };
        let number = |reply: &Reply| match reply {
            Reply::Bulk(digits) => String::from_utf8_lossy(digits).parse::<u64>().unwrap(),
            other => panic!("TIME gave {other:?}"),
        };
        let now_ms = number(&time[0]) * 1000 + number(&time[1]) / 1000;
        for model in &mut self.models {
            model.command(&words(["FLUSHALL"])).unwrap();
            model.set_time_ms(now_ms).unwrap();
        }
    }

    pub(crate) fn set_context(&mut self, context: String) {
        self.context = context;
    }

    /// Runs a line of words. `''` is the empty word, `\s` a blank, `SLEEP ms` lets time pass.
    pub(crate) fn run_line(&mut self, line: &str) {
        let command: Vec<Vec<u8>> = line
            .split_whitespace()
            .map(|word| {
                if word == "''" {
                    Vec::new()
                } else {
                    word.replace("\\s", " ").into_bytes()
                }
            })
            .collect();
        match command.as_slice() {
            [] => {}
            [sleep, ms] if sleep == b"SLEEP" => {
                let ms = String::from_utf8_lossy(ms).parse().unwrap();
                for model in &mut self.models {
                    model.pass_time(ms).unwrap();
                }
                self.real.pass_time(ms).unwrap();
            }
            _ => self.run(&command),
        }
    }

    pub(crate) fn run(&mut self, command: &[Vec<u8>]) {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        let real = settled(&name, self.real.command(command).unwrap());
        for host in &mut self.models {
            let model = settled(&name, host.command(command).unwrap());
            if !alike(&name, &model, &real) {
                let (context, host, command) = (&self.context, host.name(), shown(command));
                self.differences.push(format!(
                    "{context} {command}\n   real: {real:?}\n  {host}: {model:?}"
                ));
            }
        }
    }

    /// Compares all keys: names, types, values, and which of them expire.
    pub(crate) fn compare_keys(&mut self) {
        self.run(&words(["KEYS", "*"]));
        let Reply::Array(keys) = self.real.command(&words(["KEYS", "*"])).unwrap() else {
            panic!("KEYS gave no list")
        };
        for key in keys {
            let Reply::Bulk(key) = key else {
                panic!("KEYS gave {key:?}")
            };
            let on_key = |before: &str, after: &[&str]| {
                let mut command = vec![before.as_bytes().to_vec(), key.clone()];
                command.extend(after.iter().map(|word| word.as_bytes().to_vec()));
                command
            };
            let kind = self.real.command(&on_key("TYPE", &[])).unwrap();
            let value = match kind {
                Reply::Status(kind) => match kind.as_str() {
                    "string" => on_key("GET", &[]),
                    "hash" => on_key("HGETALL", &[]),
                    "set" => on_key("SMEMBERS", &[]),
                    "zset" => on_key("ZRANGE", &["0", "-1", "WITHSCORES"]),
                    _ => on_key("XRANGE", &["-", "+"]),
                },
                other => panic!("TYPE gave {other:?}"),
            };
            self.run(&value);
            self.run(&on_key("TYPE", &[]));
            self.run(&on_key("PTTL", &[]));
        }
    }

    pub(crate) fn finish(self) {
        let shown = self
            .differences
            .iter()
            .take(20)
            .cloned()
            .collect::<Vec<_>>();
        assert!(
            shown.is_empty(),
            "{} differences:\n{}",
            self.differences.len(),
            shown.join("\n")
        );
    }
}
