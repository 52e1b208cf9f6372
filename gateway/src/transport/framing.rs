//! Where requests begin and end in what a client sends.
//!
//! hyper takes a request that gives its length twice, and leaves one of the two out of what it hands on. Two readers of
//! such a request may disagree on where the next one begins, so it must be refused; only the bytes themselves still
//! show it. This follows them beside hyper, which goes on to judge everything else. What it can't follow it refuses.

/// What is kept of a line that comes in several pieces. No honest length has a longer line.
const LINE_BYTES: usize = 128;

/// Follows the bytes of one connection.
#[derive(Debug, Default)]
pub(super) struct Framing {
    at: At,
    line: Vec<u8>,
    lengths: Lengths,
    heads: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the first line of a request.
    #[default]
    Start,
    /// Among the headers.
    Headers,
    /// In a body of which so much is left.
    Body(u64),
    /// Before the size of a chunk.
    ChunkSize,
    /// In a chunk of which so much is left.
    Chunk(u64),
    /// Behind a chunk.
    ChunkEnd,
    /// Among the trailers.
    Trailers,
    /// Behind something that is refused: the connection ends here.
    Lost,
}

/// What the headers of one request say about its length.
#[derive(Debug, Default)]
struct Lengths {
    content_lengths: u32,
    bytes: u64,
    is_chunked: bool,
}

impl Framing {
    /// Follows these bytes. False when a request in them gives its length twice, or unreadably: the one after the
    /// complete [`Self::heads`] must not be answered.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.at {
                At::Lost => return true,
                At::Body(left) => {
                    let left = skip(&mut bytes, left);
                    self.at = if left == 0 { At::Start } else { At::Body(left) };
                }
                At::Chunk(left) => {
                    let left = skip(&mut bytes, left);
                    self.at = if left == 0 {
                        At::ChunkEnd
                    } else {
                        At::Chunk(left)
                    };
                }
                _ => {
                    self.read_line(&mut bytes);
                    if self.at == At::Lost {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The number of heads that were complete.
    pub(super) fn heads(&self) -> u64 {
        self.heads
    }

    /// Whether the last complete head still lacks some of its body.
    pub(super) fn is_in_body(&self) -> bool {
        !matches!(self.at, At::Start | At::Headers | At::Lost)
    }

    /// Whether a request has begun that is not complete.
    pub(super) fn is_in_request(&self) -> bool {
        self.at != At::Start || !self.line.is_empty()
    }

    fn read_line(&mut self, bytes: &mut &[u8]) {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.keep(bytes);
            *bytes = &[];
            return;
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        *bytes = rest;
        if self.line.is_empty() {
            self.at = self.behind(line, true);
            return;
        }
        self.keep(line);
        let kept = std::mem::take(&mut self.line);
        self.at = self.behind(&kept, kept.len() < LINE_BYTES);
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Where a line leads. What was kept of it may not be all.
    fn behind(&mut self, line: &[u8], is_whole: bool) -> At {
        let (line, has_cr) = match line.strip_suffix(b"\r") {
            Some(line) => (line, true),
            None => (line, false),
        };
        // hyper takes a head whose lines end without CR, but not so a chunk.
        let is_strict = is_whole && has_cr;
        match self.at {
            At::Start if line.is_empty() => At::Start,
            At::Start => {
                self.lengths = Lengths::default();
                At::Headers
            }
            At::Headers if line.is_empty() => self.behind_head(),
            At::Headers => self.lengths.behind_header(line, is_whole),
            At::ChunkSize if is_strict => match chunk_size(line) {
                Some(0) => At::Trailers,
                Some(size) => At::Chunk(size),
                None => At::Lost,
            },
            At::ChunkEnd if is_strict && line.is_empty() => At::ChunkSize,
            At::Trailers if is_strict && line.is_empty() => At::Start,
            At::Trailers if is_strict => At::Trailers,
            _ => At::Lost,
        }
    }

    fn behind_head(&mut self) -> At {
        let lengths = &self.lengths;
        if lengths.content_lengths + u32::from(lengths.is_chunked) > 1 {
            return At::Lost;
        }
        self.heads += 1;
        match (lengths.is_chunked, lengths.bytes) {
            (true, _) => At::ChunkSize,
            (false, 0) => At::Start,
            (false, bytes) => At::Body(bytes),
        }
    }
}

impl Lengths {
    fn behind_header(&mut self, line: &[u8], is_whole: bool) -> At {
        // Most headers are passed over by their first letter.
        if !matches!(line.first(), Some(b'C' | b'c' | b'T' | b't')) {
            return At::Headers;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return At::Headers;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.content_lengths += 1;
            match number(value, 10).filter(|_| is_whole) {
                Some(bytes) => self.bytes = bytes,
                None => return At::Lost,
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        }
        At::Headers
    }
}

/// Passes over so many bytes, and says how many are still to come.
fn skip(bytes: &mut &[u8], left: u64) -> u64 {
    let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *bytes = &bytes[here..];
    left - here as u64
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?;
    number(size.trim_ascii(), 16)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if !digits.first()?.is_ascii_hexdigit() {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found when the bytes come in pieces of that size.
    fn follow(text: &str, piece: usize) -> (bool, Framing) {
        let mut framing = Framing::default();
        let sound = text
            .as_bytes()
            .chunks(piece)
            .all(|piece| framing.read(piece));
        (sound, framing)
    }

    #[test]
    fn requests_are_counted_however_they_are_cut() {
        let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n\
                    \r\nPOST / HTTP/1.1\r\ncontent-LENGTH:   5 \r\n\r\n\n\n\n\n\n\
                    POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n\
                    A;x=y\r\n0123456789\r\n1\r\n\n\r\n0\r\nX: y\r\n\r\n\
                    GET / HTTP/1.1\r\n\r\n";
        for piece in 1..=text.len() {
            let (sound, framing) = follow(text, piece);
            assert!(sound, "in pieces of {piece}");
            assert_eq!(framing.heads(), 4, "in pieces of {piece}");
            assert!(!framing.is_in_request(), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_length_that_is_given_twice_is_found() {
        let (length, chunked) = ("Content-Length: 5", "Transfer-Encoding: chunked");
        for (first, second) in [
            (length, chunked),
            (chunked, length),
            (length, length),
            (length, "content-length:5"),
            ("CONTENT-LENGTH: 0", "transfer-encoding: chunked"),
        ] {
            let text = format!(
                "GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\n{first}\r\nA: b\r\n{second}\r\n\r\n"
            );
            for piece in 1..=text.len() {
                let (sound, framing) = follow(&text, piece);
                assert!(!sound, "{first}, {second} in pieces of {piece}");
                assert_eq!(framing.heads(), 1);
            }
        }
    }

    #[test]
    fn what_can_not_be_followed_is_refused() {
        let spaces = " ".repeat(LINE_BYTES);
        let zeros = "0".repeat(LINE_BYTES);
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for text in [
            "POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n".to_owned(),
            format!("POST / HTTP/1.1\r\nContent-Length: {spaces}5\r\n\r\n"),
            format!("{chunked}{zeros}5\r\n"),
            format!("{chunked}5\n"),
            format!("{chunked}1\r\nab\r\n"),
            format!("{chunked}0\r\nX: a\n\n"),
        ] {
            assert!(!follow(&text, 3).0, "{text:?}");
        }
    }

    #[test]
    fn a_body_is_not_taken_for_headers() {
        let body = "\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n";
        let text = format!(
            "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        for piece in 1..=text.len() {
            let (sound, framing) = follow(&text, piece);
            assert!(sound && !framing.is_in_request(), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_body_that_is_not_all_there_is_noticed() {
        let (_, framing) = follow("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234", 7);
        assert!(framing.is_in_body());
        let (_, framing) = follow(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
            7,
        );
        assert!(framing.is_in_body());
        let (_, framing) = follow("GET / HTTP/1.1\r\n\r\nGET /", 7);
        assert!(!framing.is_in_body() && framing.is_in_request());
    }
}
