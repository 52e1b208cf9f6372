//! Reading a page, and using it as a person would.

use std::time::Instant;

use fantoccini::Locator;
use serde_json::{Value, json};

use super::{Browser, LOOK_AGAIN, PATIENCE, Stage};

/// Keys as WebDriver names them.
const NONE: &str = "\u{e000}";
const BACKSPACE: &str = "\u{e003}";
const CONTROL: &str = "\u{e009}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

impl Browser {
    /// Goes to a page of the gateway.
    pub(crate) fn open(&self, stage: &Stage, path: &str) {
        self.open_address(&format!("{}{path}", stage.address()));
    }

    /// Goes to a page of any server.
    pub(crate) fn open_address(&self, address: &str) {
        // A change after '#' alone loads nothing, and a test wants a fresh page.
        self.leave();
        self.wait(self.client().goto(address)).unwrap();
    }

    /// Goes on within the page, as a link would.
    pub(crate) fn go(&self, hash: &str) {
        self.script("location.hash = arguments[0]", &[json!(hash)]);
    }

    /// Goes elsewhere.
    pub(crate) fn leave(&self) {
        self.wait(self.client().goto("about:blank")).unwrap();
    }

    pub(crate) fn go_back(&self) {
        self.wait(self.client().back()).unwrap();
    }

    pub(crate) fn reload(&self) {
        self.wait(self.client().refresh()).unwrap();
    }

    /// What a script of statements returns.
    pub(crate) fn script(&self, script: &str, arguments: &[Value]) -> Value {
        let arguments = arguments.to_vec();
        self.wait(self.client().execute(script, arguments)).unwrap()
    }

    /// What a script gives to its function `done`, whenever it does.
    pub(crate) fn later(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.wait(self.client().execute_async(&script, Vec::new()))
            .unwrap()
    }

    /// Waits until something is there and can be seen, and gives its text.
    #[track_caller]
    pub(crate) fn wait_for(&self, selector: &str) -> String {
        self.until(&format!("{selector} is there"), || self.seen(selector))
    }

    /// The text of what can be seen now.
    pub(crate) fn seen(&self, selector: &str) -> Option<String> {
        let script = "const element = document.querySelector(arguments[0]); \
             return element?.checkVisibility() ? (element.innerText ?? element.textContent).trim() : null";
        self.script(script, &[json!(selector)])
            .as_str()
            .map(str::to_owned)
    }

    /// The texts of all that fit.
    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        let script = "return [...document.querySelectorAll(arguments[0])].map((element) => (element.innerText ?? element.textContent).trim())";
        let found = self.script(script, &[json!(selector)]);
        serde_json::from_value(found).unwrap()
    }

    /// Waits until the text of something has this in it.
    #[track_caller]
    pub(crate) fn wait_for_text(&self, selector: &str, part: &str) -> String {
        let what = format!("{selector} has '{part}'");
        let found = self.until_or(&what, || self.seen(selector), |text| text.contains(part));
        found.unwrap_or_else(|last| panic!("not so: {what}, but {last:?}"))
    }

    /// Waits until something comes of it.
    #[track_caller]
    pub(crate) fn until<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        match self.until_or(what, look, |_| true) {
            Ok(found) => found,
            Err(_) => panic!("not so: {what}; the page says: {:?}", self.seen("body")),
        }
    }

    fn until_or<T>(
        &self,
        _what: &str,
        mut look: impl FnMut() -> Option<T>,
        is_so: impl Fn(&T) -> bool,
    ) -> Result<T, Option<T>> {
        let begin = Instant::now();
        loop {
            let found = look();
            match found {
                Some(value) if is_so(&value) => return Ok(value),
                last if begin.elapsed() > PATIENCE => return Err(last),
                _ => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }

    /// Presses what is at this place, as a mouse does: it must be there to be seen, and nothing may cover it.
    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        self.wait_for(selector);
        let element = self.wait(self.client().find(Locator::Css(selector)));
        self.wait(element.unwrap().click()).unwrap();
    }

    /// Types into a field, in place of what was there.
    #[track_caller]
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        self.wait_for(selector);
        let element = self
            .wait(self.client().find(Locator::Css(selector)))
            .unwrap();
        // Everything is selected, and typed over or deleted: a page hears of it as of a person's typing.
        let typed = if text.is_empty() { BACKSPACE } else { text };
        let keys = format!("{CONTROL}a{NONE}{typed}");
        self.wait(element.send_keys(&keys)).unwrap();
    }

    /// What a script hands to its last argument, when it does.
    pub(crate) fn script_async(&self, script: &str) -> Value {
        self.wait(self.client().execute_async(script, Vec::new()))
            .unwrap()
    }

    /// Goes to what comes next, as the key does.
    pub(crate) fn press_tab(&self) {
        for kind in ["rawKeyDown", "keyUp"] {
            let key =
                json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
            self.devtools("Input.dispatchKeyEvent", &key);
        }
    }

    /// Presses keys where the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let active = self.wait(self.client().active_element()).unwrap();
        self.wait(active.send_keys(keys)).unwrap();
    }
}
