//! What the library answered, and what its errors mean.

use bytes::Bytes;
use lockless_wasm::Reply as Given;

use crate::backend::{Failure, Reply};

/// Reads the reply to a call.
pub(super) fn read(given: Given) -> Result<Reply, Failure> {
    match given {
        Given::Error(line) => Err(refused(&line)),
        given => reply(given).ok_or_else(|| {
            Failure::Refused(
                "an error in the middle of a reply, which no function gives".to_owned(),
            )
        }),
    }
}

fn reply(given: Given) -> Option<Reply> {
    Some(match given {
        Given::Int(number) => Reply::Integer(number),
        Given::Bulk(bytes) => Reply::Bytes(Bytes::from(bytes)),
        Given::Status(text) => Reply::Bytes(Bytes::from(text)),
        Given::Nil => Reply::Nil,
        Given::Array(items) => Reply::List(items.into_iter().map(reply).collect::<Option<_>>()?),
        Given::Error(_) => return None,
    })
}

fn refused(line: &str) -> Failure {
    let (code, sentence) = line.split_once(' ').unwrap_or((line, ""));
    if code == "OOM" {
        return Failure::Full(
            "the embedded scheduler uses as much as it may (--embedded-memory-mb)".to_owned(),
        );
    }
    Failure::of_library(code, sentence).unwrap_or_else(|| Failure::Refused(line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_read() {
        let given = Given::Array(vec![
            Given::Int(7),
            Given::Bulk(b"a".to_vec()),
            Given::Status("OK".to_owned()),
            Given::Nil,
        ]);
        let bytes = |text: &'static str| Reply::Bytes(Bytes::from_static(text.as_bytes()));
        let expected = Reply::List(vec![Reply::Integer(7), bytes("a"), bytes("OK"), Reply::Nil]);
        assert_eq!(read(given), Ok(expected));
    }

    #[test]
    fn each_error_has_one_meaning() {
        let failure = |line: &str| read(Given::Error(line.to_owned())).expect_err("an error");
        let library = Failure::Library {
            code: "NO_SUCH_JOB".to_owned(),
            sentence: "there is no job 'j'".to_owned(),
        };
        assert_eq!(failure("NO_SUCH_JOB there is no job 'j'"), library);
        assert!(matches!(
            failure("OOM command not allowed when used memory > 'maxmemory'."),
            Failure::Full(_)
        ));
        let odd = "ERR user_script:1: attempt to index a nil value";
        assert_eq!(failure(odd), Failure::Refused(odd.to_owned()));
        let inside = Given::Array(vec![Given::Error(odd.to_owned())]);
        assert!(matches!(read(inside), Err(Failure::Refused(_))));
    }
}
