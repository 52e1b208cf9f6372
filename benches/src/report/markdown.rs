//! The page itself.

use std::fmt::Write;

use super::table::verdict;
use super::{Notes, table};
use crate::harness::Group;
use crate::harness::terminal::short;
use crate::results::{Figure, Kept, Table, Verdict};

/// What every reader has to know first.
const INTRODUCTION: &str = "\
Every ratio is first side to second side, measured in turn in the same run on the same machine, on private servers. A figure is the \
median over the rounds; in brackets are the quartiles, between which half of the rounds lie. The ratio is the median of the rounds' own \
ratios, so that noise that comes and goes does not change it.";

/// The whole page.
pub(super) fn page(kept: &[(&Group, Kept)], notes: &Notes) -> String {
    let mut page = String::from("# Figures\n\n");
    page.push_str("Written by `cargo xtask bench`. Do not edit: what is to be said about a figure goes into `notes.toml`.\n\n");
    if let Some((_, last)) = kept
        .iter()
        .max_by(|a, b| a.1.provenance.at.cmp(&b.1.provenance.at))
    {
        let machine = &last.provenance.machine;
        let _ = writeln!(
            page,
            "Machine: {} with {} cores, {} MiB; {}; {}.\n",
            machine.processor, machine.cores, machine.memory_mib, machine.system, machine.redis
        );
    }
    page.push_str(INTRODUCTION);
    page.push_str("\n\n");
    summary(&mut page, kept);
    for (group, one) in kept {
        section(&mut page, group, one, notes);
    }
    page
}

fn summary(page: &mut String, kept: &[(&Group, Kept)]) {
    let judged: Vec<(&Table, &Figure)> = kept
        .iter()
        .flat_map(|(_, one)| &one.result.tables)
        .flat_map(|table| table.figures.iter().map(move |figure| (table, figure)))
        .filter(|(_, figure)| figure.verdict.is_some())
        .collect();
    if judged.is_empty() {
        return;
    }
    let is_missed = |it: &&(&Table, &Figure)| it.1.verdict == Some(Verdict::Missed);
    let missed = judged.iter().filter(is_missed).count();
    let _ = writeln!(
        page,
        "## Targets\n\n{} hold, {missed} are missed.\n",
        judged.len() - missed
    );
    page.push_str("| what | figure | target | |\n|---|---:|---|---|\n");
    for (table, figure) in judged {
        let target = figure.target.map_or(String::new(), |it| it.to_string());
        let _ = writeln!(
            page,
            "| {}: {} | {} | {target} | {} |",
            table.title,
            figure.what,
            short(figure.judged()),
            verdict(figure)
        );
    }
    page.push('\n');
}

fn section(page: &mut String, group: &Group, kept: &Kept, notes: &Notes) {
    let made = &kept.provenance;
    let _ = writeln!(page, "## {}\n\n{}\n", group.title, group.about);
    let _ = writeln!(
        page,
        "`{}`, {} UTC, commit {}, {:.0} s, load {:.1} when the run began. Raw figures: [{name}.json](results/{name}.json).\n",
        made.command,
        made.at,
        made.commit,
        made.took_s,
        made.load_at_begin,
        name = kept.group
    );
    if made.machine.is_busy(made.load_at_begin) {
        page.push_str("**The machine had other work when this run began, so these figures are less sharp than they could be.**\n\n");
    }
    for one in &kept.result.tables {
        table::write(page, one, notes);
    }
    for plot in &kept.result.plots {
        let _ = writeln!(page, "![{}](results/{}.svg)\n", plot.title, plot.file);
        if !plot.caption.is_empty() {
            let _ = writeln!(page, "{}\n", plot.caption);
        }
    }
    for missing in &kept.result.not_available {
        let _ = writeln!(
            page,
            "Not available: **{}**: {}\n",
            missing.name, missing.reason
        );
    }
    for remark in &kept.result.remarks {
        let _ = writeln!(page, "{remark}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{GroupResult, Machine, Provenance, Target};

    fn kept(result: GroupResult) -> Kept {
        Kept {
            group: "native".to_owned(),
            provenance: Provenance {
                at: "2026-01-01 00:00".to_owned(),
                command: "cargo xtask bench".to_owned(),
                effort: "full".to_owned(),
                took_s: 1.0,
                commit: "abc".to_owned(),
                load_at_begin: 0.0,
                machine: Machine {
                    processor: "p".to_owned(),
                    cores: 2,
                    memory_mib: 1,
                    system: "s".to_owned(),
                    redis: "r".to_owned(),
                },
            },
            result,
        }
    }

    #[test]
    fn a_missed_target_is_marked_and_counted_and_what_was_tried_is_said() {
        let mut table = Table::comparing("CPU", "us", "FCALL", "natively");
        let missed = Figure::compared("native/one", "one", &[3.0], &[2.0]);
        let holds = Figure::compared("native/two", "two", &[2.0], &[2.0]);
        let target = Target::AtMost(1.2);
        table.figures = vec![missed.held_to(target), holds.held_to(target)];
        let mut result = GroupResult::default();
        result.tables.push(table);
        result.lacks("webdis", "not installed");
        let group = crate::groups::find("native").unwrap();
        let notes = Notes::from_text(r#""native/one" = "fewer tables""#).unwrap();
        let page = page(&[(group, kept(result))], &notes);
        assert!(page.contains("1 hold, 1 are missed"));
        assert!(page.contains("| CPU: one | 1.50 | at most 1.2 | ![missed]"));
        assert!(page.contains("- one: fewer tables"));
        assert!(page.contains("Not available: **webdis**: not installed"));
        assert!(!page.contains("had other work"));
    }

    #[test]
    fn figures_of_a_busy_machine_say_so() {
        let mut busy = kept(GroupResult::default());
        busy.provenance.load_at_begin = 1.1;
        let group = crate::groups::find("native").unwrap();
        let page = page(&[(group, busy)], &Notes::default());
        assert!(page.contains("had other work"));
    }
}
