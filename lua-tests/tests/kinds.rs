//! Every kind of damage that check can name is done in a spec, named there, and mended.
//!
//! Each place in the audits that says what is wrong is numbered, and the specs of check run on a library whose sentences end in the number
//! of their place.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use lockless_functions::LIBRARY;
use lockless_lua_tests::{Error, Host, InProcess, Model, Reply, spec::SpecFile};

const ROOT: &str = "scheduler:{main}";

/// Where a sentence is said: the file, the line, and the line itself.
type Places = BTreeMap<usize, String>;

fn folder(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| name(path).starts_with(prefix))
        .collect();
    paths.sort();
    paths
}

/// A line with a number before each sentence that it says.
fn numbered(line: &str, place: &str, places: &mut Places) -> String {
    // It only passes on what is said elsewhere.
    if line.contains("local function wrong(") {
        return line.to_owned();
    }
    let mut out = line.to_owned();
    for word in ["say(", "wrong("] {
        let parts: Vec<&str> = out.split(word).collect();
        let mut said = parts[0].to_owned();
        for part in &parts[1..] {
            said.push_str(word);
            let is_call = !said[..said.len() - word.len()]
                .ends_with(|before: char| before.is_alphanumeric() || before == '_');
            // Otherwise it is the parameter of a definition.
            if is_call && (part.starts_with('\'') || part.starts_with("name ..")) {
                let number = places.len() + 1;
                places.insert(number, place.to_owned());
                said.push_str(&format!("'<<{number}>>' .. "));
            }
            said.push_str(part);
        }
        out = said;
    }
    out
}

/// The library whose audits say where they say it, at the end of each sentence.
fn library(places: &mut Places) -> String {
    let mut library = LIBRARY.to_owned();
    for path in files(&folder("../functions/src/shared"), "audit_") {
        let source = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let lines = source.lines().enumerate().map(|(at, line)| {
            let place = format!("{name}:{} {}", at + 1, line.trim());
            numbered(line, &place, places)
        });
        let changed: Vec<String> = lines.collect();
        let body = source.trim_end();
        assert_eq!(
            library.matches(body).count(),
            1,
            "the bundle has {name} as it is"
        );
        library = library.replacen(body, &changed.join("\n"), 1);
    }
    let entry = "function audit.run(c, arg, say)\n";
    assert_eq!(library.matches(entry).count(), 1);
    let moved = "function audit.run(c, arg, say)
  local plain = say
  say = function(sentence, ...)
    return plain(sentence:gsub('<<%d+>>', '') .. sentence:match('<<%d+>>'), ...)
  end\n";
    library.replacen(entry, moved, 1)
}

/// A model that notes the numbers in what check and repair say.
struct Noting {
    inner: InProcess,
    heard: Rc<RefCell<Heard>>,
}

#[derive(Default)]
struct Heard {
    named: BTreeSet<usize>,
    mended: BTreeSet<usize>,
}

fn note(reply: &Reply, numbers: &mut BTreeSet<usize>) {
    match reply {
        Reply::Array(items) => items.iter().for_each(|item| note(item, numbers)),
        Reply::Bulk(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let number = text
                .strip_suffix(">>")
                .and_then(|text| text.rsplit_once("<<"));
            numbers.extend(number.map(|(_, number)| number.parse::<usize>().unwrap()));
        }
        _ => {}
    }
}

impl Host for Noting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn fcall(&mut self, function: &str, keys: &[&[u8]], args: &[Vec<u8>]) -> Result<Reply, Error> {
        let reply = self.inner.fcall(function, keys, args)?;
        let mut heard = self.heard.borrow_mut();
        match function {
            "lockless_check" => note(&reply, &mut heard.named),
            "lockless_repair" => note(&reply, &mut heard.mended),
            _ => {}
        }
        Ok(reply)
    }

    fn fcall_ro(
        &mut self,
        function: &str,
        keys: &[&[u8]],
        args: &[Vec<u8>],
    ) -> Result<Reply, Error> {
        self.inner.fcall_ro(function, keys, args)
    }

    fn command(&mut self, args: &[Vec<u8>]) -> Result<Reply, Error> {
        self.inner.command(args)
    }

    fn pass_time(&mut self, ms: u64) -> Result<(), Error> {
        self.inner.pass_time(ms)
    }

    fn hear(&mut self, channel: &[u8]) -> Result<(), Error> {
        self.inner.hear(channel)
    }

    fn heard(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.inner.heard()
    }

    fn as_model(&mut self) -> Option<&mut dyn Model> {
        self.inner.as_model()
    }
}

#[test]
fn every_kind_of_damage_is_named_and_mended_in_a_spec() {
    let mut places = Places::new();
    let library = library(&mut places);
    assert!(places.len() > 100, "{} places", places.len());
    let heard = Rc::new(RefCell::new(Heard::default()));
    for path in files(&folder("specs"), "check") {
        let file = SpecFile::read(&path).unwrap();
        for (index, test) in file.tests().iter().enumerate() {
            if !test.hosts.contains(&"in_process") {
                continue;
            }
            let host = Noting {
                inner: InProcess::new(&library).unwrap(),
                heard: Rc::clone(&heard),
            };
            file.run(index, Box::new(host), ROOT).unwrap().unwrap();
        }
    }
    let heard = heard.borrow();
    let missing = |said: &BTreeSet<usize>| -> Vec<&String> {
        let unsaid = places.iter().filter(|(number, _)| !said.contains(number));
        unsaid.map(|(_, place)| place).collect()
    };
    assert_eq!(
        missing(&heard.named),
        Vec::<&String>::new(),
        "never named by check"
    );
    assert_eq!(
        missing(&heard.mended),
        Vec::<&String>::new(),
        "never mended by repair"
    );
}
