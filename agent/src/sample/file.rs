//! Samples that someone else writes into a file.

use std::fs;
use std::path::PathBuf;

use super::Sample;

/// A file with one sample as JSON.
pub(super) struct SampleFile {
    path: PathBuf,
    last: Sample,
    /// What was wrong, so that it is said once.
    trouble: Option<String>,
}

impl SampleFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            last: Sample::default(),
            trouble: None,
        }
    }

    /// What the file says; what it said before while it is missing or half written.
    pub(super) fn read(&mut self) -> Sample {
        let read = fs::read(&self.path).map_err(|error| error.to_string());
        let sample = read
            .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))
            .and_then(checked);
        match sample {
            Ok(sample) => {
                self.last = sample;
                self.trouble = None;
            }
            Err(trouble) if self.trouble.as_ref() != Some(&trouble) => {
                tracing::warn!(
                    "--sample-from {} can't be read, the sample of before is used: {trouble}",
                    self.path.display()
                );
                self.trouble = Some(trouble);
            }
            Err(_) => {}
        }
        self.last
    }
}

/// What the library would refuse is refused here, where the file is known.
fn checked(sample: Sample) -> Result<Sample, String> {
    for (name, value) in [
        ("mem", sample.mem),
        ("swap", sample.swap),
        ("cpu", sample.cpu),
    ] {
        if !(0.0..=100.0).contains(&value) {
            return Err(format!(
                "{name} takes a number from 0 to 100, given {value}"
            ));
        }
    }
    if sample.total_mb == 0 {
        return Err("total_mb takes a whole number from 1".to_owned());
    }
    if sample.gpu_used_mb.is_some() != sample.gpu_total_mb.is_some() {
        return Err("gpu_used_mb and gpu_total_mb are given together or not at all".to_owned());
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        r#"{"mem": 50.5, "used_mb": 505, "total_mb": 1000, "avail_mb": 495, "swap": 0, "cpu": 12}"#;

    #[test]
    fn a_file_that_is_missing_or_half_written_keeps_the_last_sample() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sample.json");
        let mut file = SampleFile::new(path.clone());
        assert_eq!(file.read(), Sample::default());
        fs::write(&path, WHOLE).expect("written");
        let sample = file.read();
        assert_eq!(
            (sample.mem, sample.used_mb, sample.gpu_pct()),
            (50.5, 505, None)
        );
        for broken in [
            &WHOLE[..30],
            "",
            r#"{"mem": 1}"#,
            &WHOLE.replace("50.5", "101"),
            &WHOLE.replace("1000", "0"),
            &WHOLE.replace("\"cpu\"", "\"gpu_used_mb\": 1, \"cpu\""),
        ] {
            fs::write(&path, broken).expect("written");
            assert_eq!(file.read(), sample, "{broken}");
        }
        fs::remove_file(&path).expect("removed");
        assert_eq!(file.read(), sample);
    }

    #[test]
    fn a_gpu_is_a_share_of_its_memory() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sample.json");
        let with_gpu = WHOLE.replace(
            "\"cpu\"",
            "\"gpu_used_mb\": 10, \"gpu_total_mb\": 40, \"cpu\"",
        );
        fs::write(&path, with_gpu).expect("written");
        assert_eq!(SampleFile::new(path).read().gpu_pct(), Some(25.0));
    }
}
