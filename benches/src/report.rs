//! The table of a run.

use crate::rounds::Compared;

/// What a figure is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// It must not be more.
    AtMost(f64),
    /// It must not be less.
    AtLeast(f64),
}

impl Target {
    fn holds(self, figure: f64) -> bool {
        match self {
            Target::AtMost(limit) => figure <= limit,
            Target::AtLeast(limit) => figure >= limit,
        }
    }
}

/// What was printed so far, as far as the last line needs it.
#[derive(Debug, Default)]
pub struct Report {
    targets: usize,
    missed: Vec<String>,
}

impl Report {
    /// Begins a table of comparisons.
    pub fn comparisons(title: &str, first: &str, second: &str) {
        println!("\n{title}");
        println!("  {:<54} {first:>9} {second:>9} {:>7}  target", "", "ratio");
    }

    /// A comparison of two sides.
    pub fn compared(&mut self, what: &str, sides: Compared, target: Option<Target>) {
        let Compared {
            first,
            second,
            ratio,
        } = sides;
        let verdict = self.judge(what, ratio, target);
        println!("  {what:<54} {first:>9.2} {second:>9.2} {ratio:>7.2}  {verdict}");
    }

    /// A count that has a target.
    pub fn counted(&mut self, what: &str, count: f64, target: Target) {
        let verdict = self.judge(what, count, Some(target));
        println!("  {what:<54} {:>19} {count:>7.0}  {verdict}", "");
    }

    /// A quantity that has a target.
    pub fn measured(&mut self, what: &str, quantity: f64, target: Target) {
        let verdict = self.judge(what, quantity, Some(target));
        println!("  {what:<54} {:>19} {quantity:>7.1}  {verdict}", "");
    }

    /// A table of figures that are compared with one of them.
    pub fn figures(title: &str, figures: &[(String, f64)], unit: f64) {
        println!("\n{title}");
        println!("  {:<54} {:>9} {:>10}", "", "us", "x dispatch");
        for (what, micros) in figures {
            println!("  {what:<54} {micros:>9.2} {:>10.2}", micros / unit);
        }
    }

    /// The last line: which targets failed.
    pub fn close(&self) {
        if self.missed.is_empty() {
            println!("\nAll {} targets hold.", self.targets);
        } else {
            println!(
                "\n{} of {} targets FAILED: {}.",
                self.missed.len(),
                self.targets,
                self.missed.join("; ")
            );
        }
    }

    fn judge(&mut self, what: &str, figure: f64, target: Option<Target>) -> String {
        let Some(target) = target else {
            return String::new();
        };
        self.targets += 1;
        let words = match target {
            Target::AtMost(limit) => format!("at most {limit}"),
            Target::AtLeast(limit) => format!("at least {limit}"),
        };
        if target.holds(figure) {
            return format!("{words}: holds");
        }
        self.missed.push(what.to_owned());
        format!("{words}: FAILS")
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_figure_on_its_limit_holds() {
        assert!(Target::AtMost(1.5).holds(1.5) && Target::AtLeast(60.0).holds(60.0));
        assert!(!Target::AtMost(1.5).holds(1.51) && !Target::AtLeast(60.0).holds(59.9));
    }
}
