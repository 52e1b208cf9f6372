//! Tokens that can be read again while requests come in.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::{Tokens, file};

const VARIABLE: &str = "LOCKLESS_TOKENS";

/// The tokens that are accepted now.
#[derive(Debug)]
pub struct LiveTokens {
    file: Option<PathBuf>,
    now: RwLock<Arc<Tokens>>,
}

impl LiveTokens {
    /// No tokens: everyone is an operator.
    pub fn none() -> Self {
        Self::new(None, Tokens::none())
    }

    /// The tokens of a file. The error is a sentence for the user.
    pub fn from_file(file: &Path) -> Result<Self, String> {
        Ok(Self::new(Some(file.to_owned()), read(file)?))
    }

    /// The tokens of a variable, whose lines may also end with `;`.
    pub fn from_variable(text: &str) -> Result<Self, String> {
        let tokens = file::parse(VARIABLE, &text.replace(';', "\n"))?;
        Ok(Self::new(None, tokens))
    }

    fn new(file: Option<PathBuf>, tokens: Tokens) -> Self {
        Self {
            file,
            now: RwLock::new(Arc::new(tokens)),
        }
    }

    /// The tokens that are accepted now.
    pub fn current(&self) -> Arc<Tokens> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again, if there is one. After a mistake the old tokens stay.
    pub fn reload(&self) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let tokens = Arc::new(read(file)?);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = tokens;
        Ok(())
    }
}

fn read(file: &Path) -> Result<Tokens, String> {
    let source = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the token file {source} can't be read: {error}"))?;
    file::parse(&source, &text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::super::{Role, generate};
    use super::*;

    fn knows(tokens: &LiveTokens, secret: &str) -> bool {
        let value = HeaderValue::from_str(&format!("Bearer {secret}")).expect("a header");
        tokens
            .current()
            .authenticate(&hyper::HeaderMap::from_iter([(AUTHORIZATION, value)]))
            .is_ok()
    }

    #[test]
    fn a_file_is_read_again_and_a_bad_one_changes_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("tokens.txt");
        let (old, old_line) = generate(Role::Client, "old", None).expect("a token");
        let (new, new_line) = generate(Role::Client, "new", None).expect("a token");
        fs::write(&file, old_line).expect("written");
        let tokens = LiveTokens::from_file(&file).expect("sound");
        assert!(knows(&tokens, &old) && !knows(&tokens, &new));

        fs::write(&file, new_line).expect("written");
        tokens.reload().expect("sound");
        assert!(!knows(&tokens, &old) && knows(&tokens, &new));

        for bad in ["", "client", "client new sha256:00"] {
            fs::write(&file, bad).expect("written");
            let error = tokens.reload().expect_err("bad");
            assert!(error.contains("tokens.txt"), "{error}");
            assert!(knows(&tokens, &new));
        }
        fs::remove_file(&file).expect("removed");
        assert!(tokens.reload().is_err() && knows(&tokens, &new));
    }

    #[test]
    fn a_variable_may_have_its_lines_in_one() {
        let (first, first_line) = generate(Role::Client, "a", None).expect("a token");
        let (second, second_line) = generate(Role::Node, "b", Some("n")).expect("a token");
        let tokens =
            LiveTokens::from_variable(&format!("{first_line}; {second_line};")).expect("sound");
        assert!(knows(&tokens, &first) && knows(&tokens, &second));
        let error = LiveTokens::from_variable(" ; ").expect_err("empty");
        assert!(error.starts_with("LOCKLESS_TOKENS has no token in it"));
    }
}
