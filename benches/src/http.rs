//! Just enough of an HTTP client for a load: one connection that is kept, one request at a time.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that is kept between requests.
pub struct Connection {
    stream: TcpStream,
    headers: String,
    request: String,
    buffer: Vec<u8>,
}

/// What came back.
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
}

impl Connection {
    /// Connects to a port of this machine.
    pub async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            headers: "host: 127.0.0.1\r\ncontent-type: application/json\r\n".to_owned(),
            request: String::with_capacity(512),
            buffer: Vec::with_capacity(1024),
        })
    }

    /// Every request from here on has this header too.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Sends a request without waiting for its answer.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> io::Result<()> {
        use std::fmt::Write;

        self.request.clear();
        write!(
            self.request,
            "{method} {path} HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}",
            self.headers,
            body.len()
        )
        .map_err(io::Error::other)?;
        self.stream.write_all(self.request.as_bytes()).await
    }

    /// Sends a request and waits for its answer.
    pub async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<Answer<'_>> {
        self.send(method, path, body).await?;
        self.buffer.clear();
        let (head, length) = loop {
            self.receive().await?;
            if let Some(found) = head_and_length(&self.buffer) {
                break found;
            }
        };
        while self.buffer.len() < head + length {
            self.receive().await?;
        }
        let status = self.buffer.get(9..12);
        let status = status
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .ok_or_else(|| io::Error::other("an answer without a status"))?;
        Ok(Answer {
            status,
            body: &self.buffer[head..head + length],
        })
    }

    /// Sends a request and gives the body of its answer, which must be a 200.
    pub async fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<&[u8]> {
        let answer = self.exchange(method, path, body).await?;
        if answer.status != 200 {
            let said = String::from_utf8_lossy(answer.body);
            return Err(io::Error::other(format!("{}: {said}", answer.status)));
        }
        Ok(answer.body)
    }

    async fn receive(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
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
