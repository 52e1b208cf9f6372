//! A note inside the module, in a section of its own that no host looks at: what it was made from, and with what.

use anyhow::{Context, Result, bail};

use super::toolchain::Toolchain;

const SECTION: &str = "lockless";
const PREAMBLE: &[u8] = b"\0asm\x01\0\0\0";

/// What the module says of how it was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The digest of its inputs.
    pub(super) inputs: String,
    /// The compiler's name and version.
    pub(super) compiler: String,
    /// The digest of the libraries in it.
    pub(super) libraries: String,
}

impl Note {
    pub(super) fn new(inputs: String, toolchain: Toolchain) -> Self {
        Self {
            inputs,
            compiler: toolchain.compiler,
            libraries: toolchain.libraries,
        }
    }

    /// Adds the note at the end of a module.
    pub(super) fn append(&self, module: &mut Vec<u8>) {
        let text = format!(
            "inputs {}\ncompiler {}\nlibraries {}\n",
            self.inputs, self.compiler, self.libraries
        );
        let mut content = unsigned(SECTION.len());
        content.extend(SECTION.as_bytes());
        content.extend(text.as_bytes());
        module.push(0);
        module.extend(unsigned(content.len()));
        module.extend(content);
    }

    /// Reads the note of a module.
    pub(super) fn read(module: &[u8]) -> Result<Note> {
        let text = find(module)?.context("the module has no note of how it was made")?;
        let value = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
                .map(str::to_owned)
                .with_context(|| format!("the module's note does not name its {name}"))
        };
        Ok(Note {
            inputs: value("inputs")?,
            compiler: value("compiler")?,
            libraries: value("libraries")?,
        })
    }
}

/// A number as WebAssembly writes it: seven bits in a byte, the lowest first.
fn unsigned(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn find(module: &[u8]) -> Result<Option<String>> {
    let Some(mut rest) = module.strip_prefix(PREAMBLE) else {
        bail!("this is not a WebAssembly module");
    };
    while let Some((&id, after)) = rest.split_first() {
        let (content, next) = sized(after).context("a section of the module is cut off")?;
        rest = next;
        if id != 0 {
            continue;
        }
        let (name, text) = sized(content).context("a section of the module has no name")?;
        if name == SECTION.as_bytes() {
            return Ok(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    Ok(None)
}

/// Splits off bytes that have their number before them.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut size = 0_usize;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        size |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return bytes.get(place + 1..)?.split_at_checked(size);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Note, PREAMBLE};

    fn note() -> Note {
        Note {
            inputs: "ab".repeat(32),
            compiler: "a compiler version 1".to_owned(),
            libraries: "cd".repeat(32),
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let mut module = PREAMBLE.to_vec();
        // Another section before it: type section, empty.
        module.extend([1, 1, 0]);
        note().append(&mut module);
        assert_eq!(Note::read(&module).unwrap(), note());
    }

    #[test]
    fn a_module_without_a_note_is_an_error() {
        assert!(Note::read(PREAMBLE).is_err());
    }

    #[test]
    fn a_note_that_is_cut_off_is_an_error_at_every_length() {
        let mut module = PREAMBLE.to_vec();
        note().append(&mut module);
        for length in 0..module.len() {
            assert!(Note::read(&module[..length]).is_err(), "{length} bytes");
        }
    }
}
