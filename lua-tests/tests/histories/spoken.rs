//! What calls and replies on deployments say.

use lockless_lua_tests::{Host, Reply};

use super::generator::Call;
use crate::cell::{ROOT, field, list, number, text};

/// The values after a keyword, which stand at every second place from `from` on.
pub(super) fn options(call: &Call, from: usize, keyword: &str) -> Vec<String> {
    (from..call.args.len())
        .step_by(2)
        .filter(|at| call.arg(*at) == keyword)
        .map(|at| call.arg(at + 1))
        .collect()
}

/// The last of them.
pub(super) fn option(call: &Call, from: usize, keyword: &str) -> Option<String> {
    options(call, from, keyword).pop()
}

/// What a reply says that a node has, with revisions.
pub(super) fn assigned_in(reply: &Reply) -> Vec<(String, i64)> {
    let entry = |entry: &Reply| (text(&list(entry)[0]), number(&list(entry)[1]));
    list(field(reply, "assigned")).iter().map(entry).collect()
}

/// Whether the record still names the lost node that had it.
pub(super) fn is_unreleased(host: &mut dyn Host, id: &str) -> bool {
    let node = [
        "HGET".to_owned(),
        format!("{ROOT}:deployment:{id}"),
        "node".to_owned(),
    ];
    let node = node.map(String::into_bytes);
    !text(&host.command(&node).unwrap()).is_empty()
}
