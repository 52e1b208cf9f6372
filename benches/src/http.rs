//! Just enough of an HTTP client for a load: one connection that is kept, one request at a time.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that is kept between requests.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to a port of this machine.
    pub async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(1024),
        })
    }

    /// Sends a request without waiting for its answer.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await
    }

    /// Sends a request and gives the body of its answer, which must be a 200.
    pub async fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<&[u8]> {
        self.send(method, path, body).await?;
        self.buffer.clear();
        let (head, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(found) = head_and_length(&self.buffer) {
                break found;
            }
        };
        while self.buffer.len() < head + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if !self.buffer.starts_with(b"HTTP/1.1 200") {
            let answer = String::from_utf8_lossy(&self.buffer).into_owned();
            return Err(io::Error::other(answer));
        }
        Ok(&self.buffer[head..head + length])
    }
}

/// Where the body begins and how long it is, once the head is there.
fn head_and_length(answer: &[u8]) -> Option<(usize, usize)> {
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .and_then(|value| value.parse().ok());
    Some((head, length.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::head_and_length;

    #[test]
    fn a_head_is_found_once_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(head_and_length(answer), Some((38, 2)));
        assert_eq!(head_and_length(&answer[..30]), None);
    }
}
