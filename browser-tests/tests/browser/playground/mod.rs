//! The playground at `/playground`, which runs the library in the browser itself.

mod calls;
mod clock;
mod exported;
mod faults;
mod histories;
mod looks;
mod shaping;

use serde_json::{Value, json};

use crate::support::{Browser, Stage};

/// A place of the score: its row by a part of its title, and whose.
const OURS: usize = 0;
const THEIRS: usize = 1;

/// Goes to the playground and waits until it shows something.
fn open(browser: &Browser, stage: &Stage, hash: &str) {
    browser.open(stage, &format!("/playground{hash}"));
    wait_until_drawn(browser);
}

fn wait_until_drawn(browser: &Browser) {
    browser.until("something is drawn", || {
        let ready = browser.script("return document.documentElement.dataset.ready", &[]);
        (ready == "true").then_some(())
    });
}

/// A count of the score.
fn score(browser: &Browser, title: &str, side: usize) -> u64 {
    let script = "const row = [...document.querySelectorAll('#scores tr')].find((row) => row.cells[0].textContent.includes(arguments[0])); \
         return row.cells[1 + arguments[1]].textContent.replaceAll(',', '')";
    let text = browser.script(script, &[json!(title), json!(side)]);
    let text = text.as_str().unwrap_or_else(|| panic!("no row {title}"));
    // A side that is not there has none.
    if text == "–" {
        return 0;
    }
    text.parse()
        .unwrap_or_else(|_| panic!("{title} is '{text}'"))
}

/// Waits until a count is at least so much.
#[track_caller]
fn wait_for_score(browser: &Browser, title: &str, side: usize, least: u64) -> u64 {
    browser.until(&format!("{title} reaches {least}"), || {
        Some(score(browser, title, side)).filter(|count| *count >= least)
    })
}

/// The simulated time, in tenths of a second.
fn tenths(browser: &Browser) -> u64 {
    let text = browser.script("return document.querySelector('#time').value", &[]);
    let text = text.as_str().unwrap_or_default().to_owned();
    let (minutes, rest) = text.split_once(':').unwrap();
    let (seconds, tenths) = rest.split_once('.').unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    (number(minutes) * 60 + number(seconds)) * 10 + number(tenths)
}

/// Chooses in a list, as a hand does.
fn choose(browser: &Browser, selector: &str, value: &str) {
    let script = "const list = document.querySelector(arguments[0]); list.value = arguments[1]; \
         for (const event of ['input', 'change']) list.dispatchEvent(new Event(event, { bubbles: true })); return list.value";
    let chosen = browser.script(script, &[json!(selector), json!(value)]);
    assert_eq!(chosen, value, "{selector} has no {value}");
}

/// The simulated time of the last audit and how many there were, once it was asked for.
fn audit(browser: &Browser) -> String {
    let count = |browser: &Browser| {
        let script = "return Number(document.querySelector('#audit-says').dataset.count)";
        browser.script(script, &[]).as_u64().unwrap()
    };
    let before = count(browser);
    browser.click("#audit");
    browser.until("an audit is done", || {
        (count(browser) > before).then_some(())
    });
    browser.wait_for("#audit-says")
}

/// The lines of the list of calls that match, from what a click on a button copies.
fn copied(browser: &Browser, button: &str) -> String {
    let origin = browser.script("return location.origin", &[]);
    let permissions = json!({ "origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    browser.devtools("Browser.grantPermissions", &permissions);
    browser.devtools(
        "Emulation.setFocusEmulationEnabled",
        &json!({ "enabled": true }),
    );
    let label = browser.wait_for(button);
    browser.click(button);
    browser.wait_for_text(button, "Copied");
    let text: Value =
        browser.later("navigator.clipboard.readText().then(done, (error) => done(String(error)))");
    // The button says so for a moment only.
    browser.wait_for_text(button, &label);
    text.as_str().unwrap().to_owned()
}
