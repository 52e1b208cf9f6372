//! How many commands a function of the library gives inside one call.

use lockless_functions::LIBRARY;
use lockless_lua_tests::{Host, InProcess, Model, Reply};

use crate::Error;
use crate::cell::{PAYLOAD, ROOT};

/// How many `redis.call`s each step of a job takes on the common path.
pub fn of_a_job() -> Result<[(&'static str, usize); 3], Error> {
    let mut host = InProcess::new(LIBRARY)?;
    let mut call = |function: &str, args: &[&str]| -> Result<(Reply, usize), Error> {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let reply = host.fcall(function, &[ROOT.as_bytes()], &args)?;
        if matches!(reply, Reply::Error(_)) {
            return Err(Error::unexpected(function, &reply));
        }
        Ok((reply, host.call_count()?))
    };
    let register = ["node", "4", "POOL", "general", "PAIR", "en", "zh"];
    call("lockless_register", &register)?;
    // The session's first job leaves its pool behind, the second one what matches in that pool.
    for _ in 0..2 {
        call("lockless_dispatch", &["session", "en", "zh", PAYLOAD])?;
    }
    let dispatch = ["session", "en", "zh", PAYLOAD, "JOB", "job"];
    let (_, dispatch) = call("lockless_dispatch", &dispatch)?;
    let (_, ack) = call("lockless_ack", &["job", "node"])?;
    let (_, complete) = call("lockless_complete", &["job", "node", "finished"])?;
    Ok([("dispatch", dispatch), ("ack", ack), ("complete", complete)])
}
