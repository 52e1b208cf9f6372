//! A model of Redis and its host of Functions, in plain Lua 5.1: what runs the library wherever there is no server.
//!
//! Every file is a chunk that takes one table, the module, and adds to it. Run them in the order of [`REDIS`], then [`HOST`], all
//! with the same table `M`. Then `db = M.new(now_us)` is a database and `M.new_host(db)` a host of libraries on it. They need the
//! base library, `string`, `table` and `math`; `M.getinfo`, set before, or `debug.getinfo` gives the line numbers in
//! error texts.

/// A Lua file: its name for error messages, and its text.
pub type Source = (&'static str, &'static str);

/// The model of Redis.
pub const REDIS: [Source; 13] = [
    ("@redis/numbers.lua", include_str!("../redis/numbers.lua")),
    ("@redis/keyspace.lua", include_str!("../redis/keyspace.lua")),
    ("@redis/expiry.lua", include_str!("../redis/expiry.lua")),
    ("@redis/keys.lua", include_str!("../redis/keys.lua")),
    ("@redis/strings.lua", include_str!("../redis/strings.lua")),
    ("@redis/hashes.lua", include_str!("../redis/hashes.lua")),
    ("@redis/sets.lua", include_str!("../redis/sets.lua")),
    ("@redis/sorted.lua", include_str!("../redis/sorted.lua")),
    ("@redis/zsets.lua", include_str!("../redis/zsets.lua")),
    ("@redis/zranges.lua", include_str!("../redis/zranges.lua")),
    ("@redis/zinter.lua", include_str!("../redis/zinter.lua")),
    ("@redis/streams.lua", include_str!("../redis/streams.lua")),
    ("@redis/state.lua", include_str!("../redis/state.lua")),
];

/// The host of libraries, on top of the model.
pub const HOST: [Source; 4] = [
    ("@host/sandbox.lua", include_str!("../host/sandbox.lua")),
    ("@host/replies.lua", include_str!("../host/replies.lua")),
    ("@host/library.lua", include_str!("../host/library.lua")),
    ("@host/host.lua", include_str!("../host/host.lua")),
];
