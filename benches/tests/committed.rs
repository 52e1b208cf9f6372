//! What is committed of the bench agrees with itself: the raw figures, what is said about them, and README.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::fs;
use std::path::{Path, PathBuf};

use lockless_benches::groups::GROUPS;
use lockless_benches::report::{Notes, with_figures};
use lockless_benches::results::{Kept, Store, Verdict};

fn benches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn committed() -> Vec<Kept> {
    let store = Store::in_directory(&benches()).unwrap();
    let found = GROUPS
        .iter()
        .filter_map(|group| store.read(group.name).unwrap());
    found.collect()
}

#[test]
fn readme_shows_the_committed_figures() {
    let readme = fs::read_to_string(benches().join("../README.md")).unwrap();
    let kept = committed();
    let kept: Vec<&Kept> = kept.iter().collect();
    let written = with_figures(&readme, &kept).unwrap();
    assert!(
        readme == written,
        "README's table is not what benches/results give; `cargo xtask bench --report` writes it"
    );
}

#[test]
fn every_missed_target_says_what_was_tried() {
    let notes = Notes::read(&benches().join("notes.toml")).unwrap();
    for one in committed() {
        for figure in one.result.figures() {
            let is_missed = figure.verdict == Some(Verdict::Missed);
            assert!(
                !is_missed || notes.about(&figure.id).is_some(),
                "{} is missed and has no note in benches/notes.toml",
                figure.id
            );
        }
    }
}
