//! An AOF as the commands it is made of.

/// The same commands without MULTI and EXEC, and where each of them ends.
pub(super) fn without(bytes: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some((end, name)) = command(bytes, at) {
        if !["MULTI", "EXEC"].contains(&name.to_ascii_uppercase().as_str()) {
            out.extend_from_slice(&bytes[at..end]);
            ends.push(out.len());
        }
        at = end;
    }
    (out, ends)
}

/// The end of the command that begins here, and its name.
fn command(bytes: &[u8], at: usize) -> Option<(usize, String)> {
    let (count, mut at) = number(bytes, at, b'*')?;
    let mut name = None;
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        let word = bytes.get(start..start + length)?;
        name.get_or_insert_with(|| String::from_utf8_lossy(word).into_owned());
        at = start + length + 2;
    }
    Some((at, name?))
}

/// The number after a mark, and where its line ends.
fn number(bytes: &[u8], at: usize, mark: u8) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    if line.first() != Some(&mark) {
        return None;
    }
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let text = std::str::from_utf8(&line[1..end]).ok()?;
    Some((text.trim_end().parse().ok()?, at + end + 1))
}

#[cfg(test)]
mod tests {
    use super::without;

    #[test]
    fn transactions_are_taken_out_and_commands_stay() {
        let set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\n";
        let text = format!("*1\r\n$5\r\nMULTI\r\n{set}{set}*1\r\n$4\r\nEXEC\r\n");
        let (out, ends) = without(text.as_bytes());
        assert_eq!(out, format!("{set}{set}").as_bytes());
        assert_eq!(ends, [set.len(), 2 * set.len()]);
    }
}
