//! Requests and replies as the module reads and writes them: RESP2.

use std::{fmt, io::Write};

/// A reply as a RESP2 client sees it.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// The null bulk string or the null array.
    Nil,
    /// A status line such as `OK`.
    Status(String),
    /// An error line, code first.
    Error(String),
    /// An array.
    Array(Vec<Reply>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Int(number) => write!(f, "{number}"),
            Reply::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Reply::Nil => f.write_str("nil"),
            Reply::Status(text) => write!(f, "+{text}"),
            Reply::Error(line) => write!(f, "-{line}"),
            Reply::Array(items) => f.debug_list().entries(items).finish(),
        }
    }
}

/// Writes a command in place of what the buffer held.
pub(crate) fn write_command(args: &[&[u8]], buffer: &mut Vec<u8>) {
    buffer.clear();
    // Writing into a vector never fails.
    let _ = write!(buffer, "*{}\r\n", args.len());
    for arg in args {
        let _ = write!(buffer, "${}\r\n", arg.len());
        buffer.extend_from_slice(arg);
        buffer.extend_from_slice(b"\r\n");
    }
}

/// Reads the one reply that the bytes are; none when they are not a reply.
pub(crate) fn read_reply(bytes: &[u8]) -> Option<Reply> {
    let mut rest = bytes;
    let reply = read(&mut rest)?;
    rest.is_empty().then_some(reply)
}

fn read_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Some(line)
}

fn read(rest: &mut &[u8]) -> Option<Reply> {
    let (kind, line) = read_line(rest)?.split_first()?;
    let text = || String::from_utf8_lossy(line).into_owned();
    let number = || std::str::from_utf8(line).ok()?.parse::<i64>().ok();
    Some(match kind {
        b'+' => Reply::Status(text()),
        b'-' => Reply::Error(text()),
        b':' => Reply::Int(number()?),
        b'$' | b'*' if line == b"-1" => Reply::Nil,
        b'$' => {
            let length = usize::try_from(number()?).ok()?;
            let bytes = rest.get(..length)?.to_vec();
            *rest = rest[length..].strip_prefix(b"\r\n")?;
            Reply::Bulk(bytes)
        }
        b'*' => {
            let length = usize::try_from(number()?).ok()?;
            // Every item has at least its kind and an end of line; a larger number than that is not believed.
            let mut items = Vec::with_capacity(length.min(rest.len() / 3));
            for _ in 0..length {
                items.push(read(rest)?);
            }
            Reply::Array(items)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let mut buffer = b"what was there".to_vec();
        write_command(&[b"SET", b"", b"\r\n\x00"], &mut buffer);
        assert_eq!(buffer, b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\r\n\x00\r\n");
    }

    #[test]
    fn every_kind_of_reply_is_read() {
        let bytes = b"*8\r\n:-42\r\n$2\r\n\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n+OK\r\n-BUSY wait\r\n*1\r\n*0\r\n";
        let wanted = Reply::Array(vec![
            Reply::Int(-42),
            Reply::Bulk(b"\r\n".to_vec()),
            Reply::Bulk(Vec::new()),
            Reply::Nil,
            Reply::Nil,
            Reply::Status("OK".to_owned()),
            Reply::Error("BUSY wait".to_owned()),
            Reply::Array(vec![Reply::Array(Vec::new())]),
        ]);
        assert_eq!(read_reply(bytes), Some(wanted));
    }

    #[test]
    fn what_is_cut_off_or_goes_on_is_no_reply() {
        let whole = b"*2\r\n$3\r\nabc\r\n:1\r\n";
        assert!(read_reply(whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(read_reply(&whole[..end]), None, "{end}");
        }
        assert_eq!(read_reply(b":1\r\n:2\r\n"), None);
        assert_eq!(read_reply(b"*99999999999\r\n"), None);
        assert_eq!(read_reply(b"?\r\n"), None);
        assert_eq!(read_reply(b"$-2\r\n"), None);
    }
}
