//! What must hold on every page.

use serde_json::{Value, json};

use super::Browser;
use super::commands::Extension;
use super::programs;

impl Browser {
    /// Lets a complaint in the console pass that a test causes on purpose: a refused request is one.
    pub(crate) fn allow_in_console(&self, part: &str) {
        self.allowed.borrow_mut().push(part.to_owned());
    }

    /// What the console said that it should not, since the last time.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self
            .wait(self.client().issue_cmd(Extension::console()))
            .unwrap();
        let allowed = self.allowed.borrow();
        let severe = log.as_array().into_iter().flatten();
        let severe =
            severe.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        let said = severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned());
        said.filter(|said| !allowed.iter().any(|part| said.contains(part.as_str())))
            .collect()
    }

    /// Fails on what axe-core calls serious or critical.
    #[track_caller]
    pub(crate) fn assert_accessible(&self) {
        self.assert_no_finding(&json!({ "resultTypes": ["violations"] }));
    }

    /// The same for colours alone, which is what a page in another theme may have got wrong.
    #[track_caller]
    pub(crate) fn assert_colours_accessible(&self) {
        self.assert_no_finding(&json!({ "resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"] }));
    }

    #[track_caller]
    fn assert_no_finding(&self, options: &Value) {
        // Through the driver, because the page's own policy lets no other script in.
        self.script(&programs::axe(), &[]);
        let run = "const [options, done] = arguments; \
             axe.run(document, options).then((found) => done(found.violations), (error) => done(String(error)))";
        let found = self
            .wait(self.client().execute_async(run, vec![options.clone()]))
            .unwrap();
        let findings = found.as_array().unwrap_or_else(|| panic!("axe: {found}"));
        let serious: Vec<String> = findings
            .iter()
            .filter(|one| one["impact"] == "serious" || one["impact"] == "critical")
            .map(sentence)
            .collect();
        let place = self.wait(self.client().current_url()).unwrap();
        assert!(serious.is_empty(), "{place}: {serious:#?}");
    }

    /// Fails if the page is wider than its window.
    #[track_caller]
    pub(crate) fn assert_no_sideways_scroll(&self) {
        let script = "const root = document.documentElement; \
             const wide = [...document.querySelectorAll('body *')].filter((element) => \
               element.getBoundingClientRect().right > root.clientWidth + 1 && !element.closest('.scroll')); \
             return [root.scrollWidth, root.clientWidth, wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120))]";
        let found = self.script(script, &[]);
        assert_eq!(found[0], found[1], "too wide: {}", found[2]);
    }
}

fn sentence(finding: &Value) -> String {
    let places = finding["nodes"].as_array().into_iter().flatten();
    let places: Vec<String> = places
        .map(|node| format!("{} {}", node["target"], node["failureSummary"]))
        .take(4)
        .collect();
    format!(
        "{}: {} at {}",
        finding["id"],
        finding["help"],
        json!(places)
    )
}
