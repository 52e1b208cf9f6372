//! What code inside the module can not do: run on, grow on, reach out, or get around the sandbox.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use lockless_wasm::{Limits, MODULE, Machine, Reply, Stopped};

const NOW_US: u64 = 1_767_225_600_000_000;
const LIMITS: Limits = Limits {
    memory_bytes: 32 << 20,
    budget_k_instructions: 20_000,
};

/// A machine with one more function, `run`, that has this body.
fn machine_with(body: &str) -> Machine {
    let mut machine = Machine::start(LIMITS, NOW_US).unwrap();
    let library = format!(
        "#!lua name=test\nredis.register_function('run', function(keys, args)\n{body}\nend)\n"
    );
    let loaded = call(&mut machine, &["FUNCTION", "LOAD", &library]).unwrap();
    assert_eq!(loaded, Reply::Bulk(b"test".to_vec()));
    machine
}

fn call(machine: &mut Machine, args: &[&str]) -> Result<Reply, Stopped> {
    let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
    machine.call(&args, NOW_US)
}

fn run(body: &str) -> Result<Reply, Stopped> {
    call(&mut machine_with(body), &["FCALL", "run", "0"])
}

fn error_of(body: &str) -> String {
    match run(body).unwrap() {
        Reply::Error(line) => line,
        other => panic!("`{body}` gave {other:?}"),
    }
}

#[test]
fn work_without_end_is_stopped_wherever_it_is_done() {
    let bodies = [
        "while true do end",
        "local function f() return f() end return f()",
        "repeat until not pcall(function() while true do end end)",
        "local t = {} for i = 1, 100000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
        "local t = {} while true do for i = 1, 10000 do t[i] = (i * 7919) % 10007 end table.sort(t) end",
        "local s = string.rep('x', 1000000) while true do string.find(s, 'y', 1, true) end",
        "local s = string.rep('x', 1000000) while true do string.find(s, 'xy', 1, true) end",
        "local s = string.rep('a', 30) return string.find(s, string.rep('a?', 30) .. string.rep('a', 30))",
        "return string.find(string.rep('a', 200000), '.-b')",
        "return string.find(string.rep('(', 200000), '%b()')",
        "return string.find(string.rep('b', 100000), '[' .. string.rep('a', 100000) .. ']')",
        "while true do string.rep('', 2147483647) end",
        "local a, b = string.rep('x', 1000000) .. 'a', string.rep('x', 1000000) .. 'b' while true do local _ = a < b end",
        "local s = string.rep('x', 1000000) local t = s .. s while true do local _ = s .. s end",
        "local s = string.rep('x', 1000000) while true do string.gsub(s, 'x', 'x') end",
        "while true do table.insert({}, -2147483647, 1) end",
        "local t = {} for i = 1, 100000 do t[i] = i end while true do table.maxn(t) end",
        "local t = {} for i = 1, 100000 do t[i] = '' end while true do table.concat(t) end",
        "local t = {} for i = 1, 100000 do t[i] = i end for i = 1, 100000 do t[i] = nil end while true do next(t) end",
        "local t = {} for i = 1, 100000 do t[i] = i end while true do table.foreachi(t, rawequal) end",
        "local s = string.rep('1', 1000000) while true do tonumber(s) end",
        "local s = string.rep('1', 1000000) while true do tonumber(s, 16) end",
        "local t = {} while true do unpack(t, 1, 7000) end",
        "local s = string.rep('x', 7000) while true do string.byte(s, 1, -1) end",
        "local p = string.rep('y', 1000000) while true do string.find('x', p) end",
        "local function f(...) while true do local _ = select('#', ...) end end return f(unpack({}, 1, 7000))",
    ];
    for body in bodies {
        let began = std::time::Instant::now();
        let stopped = run(body);
        println!("{:?} after {:?}: {body}", stopped, began.elapsed());
        assert!(
            matches!(stopped, Err(Stopped::Budget | Stopped::Memory)),
            "{body}: {stopped:?}"
        );
    }
}

#[test]
fn growth_without_end_is_stopped() {
    let bodies = [
        "local s = 'x' while true do s = s .. s end",
        "return string.rep(string.rep('x', 1000), 100000)",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local n, pad = 0, string.rep('x', 10000) while true do n = n + 1 redis.call('SADD', 'set', pad .. n) end",
    ];
    for body in bodies {
        assert_eq!(run(body), Err(Stopped::Memory), "{body}");
    }
}

#[test]
fn depth_without_end_is_an_error_or_is_stopped() {
    assert!(
        error_of("local function f(n) return 1 + f(n + 1) end return f(1)")
            .contains("stack overflow")
    );
    assert!(
        error_of("local function f() return pcall(f) end return error(select(2, f()))")
            .starts_with("ERR ")
    );
    let pattern = "return string.find(string.rep('a', 300000), string.rep('a?', 300000))";
    assert_eq!(run(pattern), Err(Stopped::Stack));
    let sort =
        "local function f() table.sort({ 2, 1 }, function() f() return false end) end return f()";
    assert!(error_of(sort).contains("C stack overflow"));
    let nested = format!("return {}1{}", "(".repeat(5000), ")".repeat(5000));
    let mut machine = machine_with("return 1");
    let library =
        format!("#!lua name=deep\nredis.register_function('deep', function() {nested} end)");
    let refused = call(&mut machine, &["FUNCTION", "LOAD", &library]).unwrap();
    assert!(
        matches!(&refused, Reply::Error(line) if line.contains("chunk has too many syntax levels")),
        "{refused:?}"
    );
}

#[test]
fn counts_that_overflow_reach_nothing_beyond_their_stack() {
    assert!(
        error_of("return unpack({}, -2147483648, 2147483647)")
            .contains("too many results to unpack")
    );
    assert!(error_of("return unpack({}, 1, 2147483647)").contains("too many results to unpack"));
    assert!(
        error_of("return string.byte(string.rep('x', 100000), 1, -1)")
            .contains("string slice too long")
    );
    assert!(error_of("return string.char(unpack({}, 1, 7900))").starts_with("ERR "));
    assert_eq!(
        run("return #string.format('%99.99f', -1.7976931348623157e308)"),
        Ok(Reply::Int(410))
    );
}

#[test]
fn what_leads_out_of_the_sandbox_is_not_there() {
    let names = [
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "require",
        "module",
        "package",
        "os",
        "io",
        "debug",
        "coroutine",
        "collectgarbage",
        "getfenv",
        "setfenv",
        "newproxy",
        "gcinfo",
        "print",
        "KEYS",
        "ARGV",
    ];
    for name in names {
        let line = error_of(&format!("return {name}"));
        assert!(
            line.contains("nonexistent global variable"),
            "{name}: {line}"
        );
    }
    for name in ["string.dump", "math.random", "math.randomseed"] {
        assert_eq!(
            run(&format!("return type({name})")),
            Ok(Reply::Bulk(b"nil".to_vec())),
            "{name}"
        );
    }
}

#[test]
fn what_is_shared_can_not_be_changed() {
    let bodies = [
        "string.format = nil",
        "redis.call = nil",
        "_G.x = 1",
        "y = 1",
        "rawset(_G, 'x', 1)",
        "rawset(string, 'format', 1)",
        "setmetatable(_G, {})",
        "setmetatable(string, {})",
        "getmetatable('').__index = {}",
        "getmetatable(_G).__index = {}",
        "getmetatable(redis).__newindex = nil",
    ];
    for body in bodies {
        let line = error_of(body);
        assert!(
            line.to_lowercase().contains("readonly table"),
            "{body}: {line}"
        );
    }
}

#[test]
fn compiled_code_is_refused() {
    let mut machine = Machine::start(LIMITS, NOW_US).unwrap();
    // The head of a compiled chunk of Lua 5.1, in front of the library's own head, after it, and in place of it.
    let compiled = b"\x1bLua\x51\x00\x01\x04\x04\x04\x08\x00";
    let sources = [
        [&compiled[..], b"#!lua name=x\n"].concat(),
        [b"#!lua name=x\n", &compiled[..]].concat(),
        compiled.to_vec(),
    ];
    for source in sources {
        let words: [&[u8]; 3] = [b"FUNCTION", b"LOAD", &source];
        let reply = machine.call(&words, NOW_US).unwrap();
        assert!(matches!(reply, Reply::Error(_)), "{reply:?}");
    }
}

#[test]
fn a_read_only_call_writes_nothing() {
    let mut machine = Machine::start(LIMITS, NOW_US).unwrap();
    let library = "#!lua name=test\n\
        redis.register_function{ function_name = 'sneaky', flags = { 'no-writes' }, callback = function(keys)\n\
          return redis.pcall('SET', keys[1], 'x') end }\n\
        redis.register_function('open', function(keys) return redis.call('SET', keys[1], 'x') end)\n";
    call(&mut machine, &["FUNCTION", "LOAD", library]).unwrap();
    let refused = |reply: Reply, part: &str| {
        assert!(
            matches!(&reply, Reply::Error(line) if line.contains(part)),
            "{reply:?}"
        );
    };
    refused(
        call(&mut machine, &["FCALL_RO", "open", "1", "k"]).unwrap(),
        "write flag using *_ro",
    );
    refused(
        call(&mut machine, &["FCALL_RO", "sneaky", "1", "k"]).unwrap(),
        "Write commands are not allowed",
    );
    refused(
        call(&mut machine, &["FCALL", "sneaky", "1", "k"]).unwrap(),
        "Write commands are not allowed",
    );
    assert_eq!(call(&mut machine, &["EXISTS", "k"]), Ok(Reply::Int(0)));
}

/// Reads a number as WebAssembly writes it, and moves on.
fn number(bytes: &mut &[u8]) -> usize {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= usize::from(first & 0x7f) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            return value;
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], size: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(size);
    *bytes = rest;
    taken
}

#[test]
fn the_module_imports_two_functions_and_nothing_else() {
    const IMPORTS: u8 = 2;
    let mut rest = &MODULE[8..];
    let mut found = Vec::new();
    while let Some((&id, after)) = rest.split_first() {
        rest = after;
        let size = number(&mut rest);
        let mut section = take(&mut rest, size);
        if id != IMPORTS {
            continue;
        }
        for _ in 0..number(&mut section) {
            let size = number(&mut section);
            let module = String::from_utf8(take(&mut section, size).to_vec()).unwrap();
            let size = number(&mut section);
            let name = String::from_utf8(take(&mut section, size).to_vec()).unwrap();
            let kind = take(&mut section, 1)[0];
            number(&mut section);
            found.push((format!("{module}.{name}"), kind));
        }
    }
    found.sort();
    let function = 0;
    assert_eq!(
        found,
        [
            ("env.lua_throw".to_owned(), function),
            ("env.lua_try".to_owned(), function)
        ]
    );
}
