//! Small libraries must be accepted, refused and answered alike by the models and a real server, with the same texts.
//!
//! Differences that are known and wanted: what the models leave out on purpose (see `host/sandbox.lua`), and the line
//! number in a raised error when the raising call was a tail call, which they show as `?`.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use lockless_lua_tests::{Error, Host, InProcess, Model, Real, Reply, Wasm};
use lockless_servers::Standalone;

const HEADER: &str = "#!lua name=l\n";

fn models() -> [Box<dyn Model>; 2] {
    [
        Box::new(InProcess::empty().unwrap()),
        Box::new(Wasm::empty().unwrap()),
    ]
}

fn refusal(result: Result<(), Error>) -> Option<String> {
    match result {
        Ok(()) => None,
        Err(Error::Library(line)) => Some(line),
        Err(other) => panic!("{other}"),
    }
}

/// Cuts both texts where the model does not know the line.
fn comparable(model: Reply, real: Reply) -> (Reply, Reply) {
    if let (Reply::Error(model_line), Reply::Error(real_line)) = (&model, &real)
        && let Some(head) = model_line.strip_suffix("?.")
        && real_line.starts_with(head)
    {
        return (Reply::Error(head.to_owned()), Reply::Error(head.to_owned()));
    }
    (model, real)
}

#[test]
fn libraries_are_accepted_and_refused_alike() {
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    let mut models = models();
    let mut differences = Vec::new();
    let bodies = include_str!("sandbox/load_bodies.txt");
    let bodies = bodies.lines().map(|body| format!("{HEADER}{body}"));
    let headers = include_str!("sandbox/headers.txt").lines().map(|header| {
        header.replace("\\n", "\n").replace("\\r", "\r")
            + "redis.register_function('a', function() end)"
    });
    for source in bodies.chain(headers) {
        let expected = refusal(real.load_library(&source));
        for model in &mut models {
            let got = refusal(model.load_library(&source));
            if got != expected {
                let name = model.name();
                differences.push(format!(
                    "{source}\n   real: {expected:?}\n  {name}: {got:?}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn functions_answer_alike() {
    let server = Standalone::builder().private().start().unwrap();
    let mut real = Real::standalone(&server.url()).unwrap();
    let bodies: Vec<&str> = include_str!("sandbox/call_bodies.txt").lines().collect();
    let mut library = HEADER.to_owned();
    for (i, body) in bodies.iter().enumerate() {
        library += &format!("redis.register_function('f{i}', function(keys, args) {body} end)\n");
        library += &format!(
            "redis.register_function{{function_name='ro{i}', flags={{'no-writes'}}, callback=function(keys, args) {body} end}}\n"
        );
    }
    real.load_library(&library).unwrap();
    let mut models = models();
    for model in &mut models {
        model.load_library(&library).unwrap();
    }
    let keys: [&[u8]; 2] = [b"k1", b"k2"];
    let args = [b"a1".to_vec()];
    let mut differences = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let calls: [(&str, bool); 3] = [("f", false), ("ro", true), ("f", true)];
        for (prefix, read_only) in calls {
            let call = |host: &mut dyn Host| {
                let name = format!("{prefix}{i}");
                if read_only {
                    host.fcall_ro(&name, &keys, &args).unwrap()
                } else {
                    host.fcall(&name, &keys, &args).unwrap()
                }
            };
            let answer = call(&mut real);
            for model in &mut models {
                let (got, expected) = comparable(call(model.as_mut()), answer.clone());
                if got != expected {
                    let name = model.name();
                    differences.push(format!(
                        "{prefix}{i}: {body}\n   real: {expected:?}\n  {name}: {got:?}"
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_refused_replacement_keeps_the_old_library() {
    for mut host in models() {
        host.load_library("#!lua name=l\nredis.register_function('f', function() return 1 end)")
            .unwrap();
        let refused = host.load_library(
            "#!lua name=l\nredis.register_function('f', function() return 2 end) nope()",
        );
        assert!(matches!(refused, Err(Error::Library(_))));
        assert_eq!(host.fcall("f", &[], &[]).unwrap(), Reply::Int(1));
        host.load_library("#!lua name=l\nredis.register_function('g', function() return 3 end)")
            .unwrap();
        assert_eq!(
            host.fcall("f", &[], &[]).unwrap(),
            Reply::Error("ERR Function not found".to_owned())
        );
        assert_eq!(host.fcall("G", &[], &[]).unwrap(), Reply::Int(3));
    }
}

#[test]
fn an_injected_failure_stops_the_call_before_it_runs() {
    let library = "#!lua name=l\nredis.register_function('f', function(keys)
      redis.call('SET', keys[1], '1') redis.call('SET', keys[2], '2') redis.call('DEL', keys[1]) end)";
    for mut host in models() {
        host.load_library(library).unwrap();
        let before = host.snapshot().unwrap();
        host.fail_at(3).unwrap();
        let reply = host.fcall("f", &[b"a", b"b"], &[]).unwrap();
        assert_eq!(
            reply,
            Reply::Error("ERR injected failure script: f, on @user_function:3.".to_owned())
        );
        assert_eq!(
            host.dump().unwrap(),
            "\"a\" string \"1\"\n\"b\" string \"2\""
        );
        assert_eq!(host.call_count().unwrap(), 3);
        let trace: Vec<String> = host
            .call_trace()
            .unwrap()
            .into_iter()
            .map(|call| call.command)
            .collect();
        assert_eq!(trace, ["set", "set", "del"]);
        host.restore(&before).unwrap();
        assert_eq!(host.dump().unwrap(), "");
        // The failure was for one call only.
        assert_eq!(host.fcall("f", &[b"a", b"b"], &[]).unwrap(), Reply::Nil);
        assert_eq!(host.dump().unwrap(), "\"b\" string \"2\"");
    }
}
