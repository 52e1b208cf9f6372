//! What becomes of what a command writes: of a job the end is kept, of a deployment all goes to a file.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use crate::logfile::LogFile;

/// As much as is kept.
pub const KEPT_BYTES: usize = 64 * 1024;

/// Where it goes.
#[derive(Debug, Clone)]
pub enum Output {
    /// Its end is kept.
    Tail(Arc<Mutex<Tail>>),
    /// To a file.
    Log(Arc<Mutex<LogFile>>),
}

impl Output {
    /// Takes what came. A file is waited for on a thread that may wait.
    pub async fn take(&self, bytes: &[u8]) {
        match self {
            Self::Tail(tail) => {
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.push(bytes);
            }
            Self::Log(log) => {
                let (log, bytes) = (Arc::clone(log), bytes.to_vec());
                let written = spawn_blocking(move || {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.write(&bytes);
                });
                let _ = written.await;
            }
        }
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub struct Tail {
    kept: VecDeque<u8>,
    is_cut: bool,
}

impl Tail {
    /// Adds what came.
    pub fn push(&mut self, bytes: &[u8]) {
        let fresh = &bytes[bytes.len().saturating_sub(KEPT_BYTES)..];
        let too_many = (self.kept.len() + fresh.len()).saturating_sub(KEPT_BYTES);
        self.is_cut |= too_many > 0 || fresh.len() < bytes.len();
        self.kept.drain(..too_many);
        self.kept.extend(fresh);
    }

    /// The text, and whether there was more before it. A character that was cut in two is left out.
    pub fn text(&self) -> (String, bool) {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        let begin = if self.is_cut {
            let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
            bytes
                .iter()
                .take(3)
                .take_while(|byte| is_continuation(byte))
                .count()
        } else {
            0
        };
        (
            String::from_utf8_lossy(&bytes[begin..]).into_owned(),
            self.is_cut,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail_of(pieces: &[&[u8]]) -> (String, bool) {
        let mut tail = Tail::default();
        for piece in pieces {
            tail.push(piece);
        }
        tail.text()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(tail_of(&[]), (String::new(), false));
        assert_eq!(tail_of(&[b"a", b"", b"bc"]), ("abc".to_owned(), false));
        let full = vec![b'x'; KEPT_BYTES];
        assert_eq!(tail_of(&[&full]), ("x".repeat(KEPT_BYTES), false));
    }

    #[test]
    fn of_more_the_end_is_kept() {
        let full = vec![b'x'; KEPT_BYTES];
        let (text, is_cut) = tail_of(&[&full, b"end"]);
        assert!(is_cut && text.len() == KEPT_BYTES && text.ends_with("xend"));
        let mut long = vec![b'x'; KEPT_BYTES];
        long.splice(0..0, *b"lost");
        let (text, is_cut) = tail_of(&[b"before", &long]);
        assert!(is_cut && text == "x".repeat(KEPT_BYTES));
    }

    #[test]
    fn a_character_cut_in_two_is_left_out_and_no_text_is_shown_as_such() {
        let mut long = "é".repeat(KEPT_BYTES / 2).into_bytes();
        long.push(b'.');
        let (text, _) = tail_of(&[&long]);
        assert!(
            text.starts_with('é') && text.ends_with("é."),
            "{}",
            &text[..4]
        );
        assert_eq!(tail_of(&[b"\xff\x80ok"]).0, "\u{fffd}\u{fffd}ok");
    }
}
