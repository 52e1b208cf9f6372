//! A slot of a Cluster on its way from one primary to another, seen from both.

use std::collections::BTreeMap;

use lockless_servers::Cluster;
use redis::{Cmd, Connection, ConnectionLike, Value, cmd, pipe};

/// One primary, spoken to directly.
pub(crate) struct Side {
    pub(crate) connection: Connection,
    pub(crate) is_target: bool,
    id: String,
    port: u16,
}

/// What every key of a slot holds on one side.
pub(crate) type Keys = BTreeMap<Vec<u8>, Value>;

pub(crate) struct Move {
    pub(crate) source: Side,
    pub(crate) target: Side,
    bystander: Side,
    slot: u16,
    pub(crate) root: String,
}

fn side(cluster: &Cluster, index: usize) -> Side {
    let node = cluster.primaries().nth(index).unwrap();
    Side {
        connection: redis::Client::open(node.url())
            .unwrap()
            .get_connection()
            .unwrap(),
        is_target: index == 1,
        id: node.id().to_owned(),
        port: node.port(),
    }
}

/// A reply, or the code of the error.
pub(crate) type Outcome = Result<Value, String>;

impl Side {
    fn must(&mut self, command: &Cmd) -> Value {
        let reply = self.connection.req_command(command).unwrap();
        assert!(!matches!(reply, Value::ServerError(_)), "{reply:?}");
        reply
    }

    /// Calls a function; on the target as a client does that was redirected there.
    pub(crate) fn call(&mut self, root: &str, line: &str, asking: bool) -> Outcome {
        if asking {
            self.must(&cmd("ASKING"));
        }
        let mut words = line.split(' ');
        let mut call = cmd("FCALL");
        call.arg(format!("lockless_{}", words.next().unwrap()))
            .arg(1)
            .arg(root);
        call.arg(words.collect::<Vec<_>>());
        let told = |code: &str, line: String| if code == "ERR" { line } else { code.to_owned() };
        match self.connection.req_command(&call) {
            Ok(Value::ServerError(error)) => Err(told(error.code(), format!("{error:?}"))),
            Ok(reply) => Ok(reply),
            Err(error) => Err(told(error.code().unwrap_or("ERR"), error.to_string())),
        }
    }

    fn names(&mut self, slot: u16) -> Vec<Vec<u8>> {
        cmd("CLUSTER")
            .arg("GETKEYSINSLOT")
            .arg(slot)
            .arg(100_000)
            .query(&mut self.connection)
            .unwrap()
    }

    fn keys(&mut self, slot: u16) -> Keys {
        let names = self.names(slot);
        if names.is_empty() {
            return Keys::new();
        }
        let mut reading = pipe();
        for name in &names {
            for read in ["DUMP", "PEXPIRETIME"] {
                if self.is_target {
                    reading.cmd("ASKING").ignore();
                }
                reading.cmd(read).arg(name);
            }
        }
        let values: Vec<Value> = reading.query(&mut self.connection).unwrap();
        let pairs = values.chunks(2).map(|pair| Value::Array(pair.to_vec()));
        names.into_iter().zip(pairs).collect()
    }
}

impl Move {
    /// A cell's name in a slot of the first primary.
    pub(crate) fn prepare(cluster: &Cluster, number: u32) -> Move {
        let [mut source, target, bystander] = [0, 1, 2].map(|index| side(cluster, index));
        let slots = cluster.primaries().next().unwrap().slots().unwrap();
        let (root, slot) = (0..)
            .map(|try_number| format!("scheduler:{{move{number}-{try_number}}}"))
            .map(|root| {
                let slot: u16 = cmd("CLUSTER")
                    .arg("KEYSLOT")
                    .arg(&root)
                    .query(&mut source.connection)
                    .unwrap();
                (root, slot)
            })
            .find(|(_, slot)| slots.contains(slot))
            .unwrap();
        Move {
            source,
            target,
            bystander,
            slot,
            root,
        }
    }

    /// Begins the move and takes the keys over that `goes` picks.
    pub(crate) fn begin(&mut self, mut goes: impl FnMut(&str) -> bool) {
        let (slot, source, target) = (self.slot, self.source.id.clone(), self.target.id.clone());
        self.target.must(
            cmd("CLUSTER")
                .arg("SETSLOT")
                .arg(slot)
                .arg("IMPORTING")
                .arg(source),
        );
        self.source.must(
            cmd("CLUSTER")
                .arg("SETSLOT")
                .arg(slot)
                .arg("MIGRATING")
                .arg(target),
        );
        let mut names = self.source.names(slot);
        names.sort();
        names.retain(|name| goes(&String::from_utf8_lossy(name)[self.root.len()..]));
        self.migrate(&names);
    }

    fn migrate(&mut self, names: &[Vec<u8>]) {
        if names.is_empty() {
            return;
        }
        let mut migrate = cmd("MIGRATE");
        migrate
            .arg("127.0.0.1")
            .arg(self.target.port)
            .arg("")
            .arg(0)
            .arg(5000)
            .arg("KEYS")
            .arg(names);
        self.source.must(&migrate);
    }

    pub(crate) fn finish(&mut self) {
        let (slot, target) = (self.slot, self.target.id.clone());
        let names = self.source.names(slot);
        self.migrate(&names);
        for side in [&mut self.target, &mut self.source, &mut self.bystander] {
            side.must(
                cmd("CLUSTER")
                    .arg("SETSLOT")
                    .arg(slot)
                    .arg("NODE")
                    .arg(&target),
            );
        }
    }

    /// All keys on both sides; no key is on both.
    pub(crate) fn keys(&mut self) -> [Keys; 2] {
        let both = [self.source.keys(self.slot), self.target.keys(self.slot)];
        let twice: Vec<_> = both[0]
            .keys()
            .filter(|key| both[1].contains_key(*key))
            .collect();
        assert!(
            twice.is_empty(),
            "on both sides: {:?}",
            twice
                .iter()
                .map(|key| key.escape_ascii().to_string())
                .collect::<Vec<_>>()
        );
        both
    }
}
