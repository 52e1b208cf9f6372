//! The Lua sources of the in-process host, for anyone who wants to run them in another Lua 5.1.
//!
//! Every file is a chunk that takes one table, the module, and adds to it. Run them in the order of [`MODEL`], then [`HOST`], all
//! with the same table `M`. Then `db = M.new(now_us)` is a database and `M.new_host(db)` a host of libraries on it. They need the
//! base library, `string`, `table` and `math`; `M.getinfo`, set before, or `debug.getinfo` gives the line numbers in
//! error texts.

/// A Lua file: its name for error messages, and its text.
pub type Source = (&'static str, &'static str);

/// The model of Redis.
pub const MODEL: [Source; 10] = [
    ("@model/numbers.lua", include_str!("model/numbers.lua")),
    ("@model/keyspace.lua", include_str!("model/keyspace.lua")),
    ("@model/keys.lua", include_str!("model/keys.lua")),
    ("@model/strings.lua", include_str!("model/strings.lua")),
    ("@model/hashes.lua", include_str!("model/hashes.lua")),
    ("@model/sets.lua", include_str!("model/sets.lua")),
    ("@model/zsets.lua", include_str!("model/zsets.lua")),
    ("@model/zranges.lua", include_str!("model/zranges.lua")),
    ("@model/zinter.lua", include_str!("model/zinter.lua")),
    ("@model/streams.lua", include_str!("model/streams.lua")),
];

/// The host of libraries, on top of the model.
pub const HOST: [Source; 4] = [
    ("@host/sandbox.lua", include_str!("host/sandbox.lua")),
    ("@host/replies.lua", include_str!("host/replies.lua")),
    ("@host/library.lua", include_str!("host/library.lua")),
    ("@host/host.lua", include_str!("host/host.lua")),
];

/// The words specs are written with.
pub(crate) const SPEC: Source = ("@spec.lua", include_str!("spec.lua"));
