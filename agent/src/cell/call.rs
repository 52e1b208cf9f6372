//! One call, said once, for either way to the cell.

use bytes::Bytes;
use lockless_functions::api::{Argument, Function, Kind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What may stand in a path or a query as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A function of the contract, and its arguments by name.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) function: &'static Function,
    given: Vec<(&'static str, Vec<String>)>,
    settings: Vec<(String, String)>,
}

/// A call as an HTTP request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: &'static str,
    /// With its query.
    pub(super) path: String,
    pub(super) body: Option<String>,
}

impl Call {
    /// A call of that function, such as `lockless_ack`.
    ///
    /// # Panics
    /// If the contract has no such function: names are written in this crate, and a test calls all of them.
    pub fn new(function: &'static str) -> Self {
        let function = lockless_functions::contract()
            .function(function)
            .unwrap_or_else(|| panic!("the contract has no function {function}"));
        Self {
            function,
            given: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// The same, with one more setting of the cell to change; for `lockless_config`.
    pub fn setting(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// The same, with one more argument.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.given.push((name, vec![value.to_string()]));
        self
    }

    /// The same, with an argument that may be absent.
    pub fn maybe(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The same, with an option that may be given several times; a pair's two languages follow each other.
    pub fn each(mut self, name: &'static str, values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values.into_iter().collect();
        if !values.is_empty() {
            self.given.push((name, values));
        }
        self
    }

    fn values(&self, argument: &Argument) -> Option<&[String]> {
        let mut given = self.given.iter();
        given
            .find(|(name, _)| *name == argument.name)
            .map(|(_, values)| values.as_slice())
    }

    /// The arguments as FCALL takes them.
    pub(super) fn arguments(&self) -> Vec<Bytes> {
        let mut out = Vec::new();
        let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        for argument in &self.function.args {
            let default = argument.http_default.as_deref().unwrap_or_default();
            let value = self.values(argument).and_then(<[_]>::first);
            out.push(text(value.map_or(default, String::as_str)));
        }
        for option in &self.function.options {
            let width = if option.kind == Kind::Pair { 2 } else { 1 };
            for values in self.values(option).unwrap_or_default().chunks(width) {
                out.push(text(option.keyword.as_deref().unwrap_or_default()));
                out.extend(values.iter().map(|value| text(value)));
            }
        }
        for (name, value) in &self.settings {
            out.extend([text(name), text(value)]);
        }
        out
    }

    /// The call as a gateway takes it, waiting so long for news.
    pub(super) fn request(&self, wait_ms: Option<u64>) -> Request {
        // What reads and changes is asked by another method when there is nothing to change.
        let read = self.function.http_read.as_ref();
        let line = read.filter(|_| self.settings.is_empty());
        let line = line.unwrap_or(&self.function.http);
        let (method, template) = line.split_once(' ').unwrap_or(("POST", ""));
        let mut path = template.to_owned();
        let mut members = Map::new();
        let mut query = Vec::new();
        let has_query = matches!(method, "GET" | "DELETE");
        for argument in self.function.args.iter().chain(&self.function.options) {
            let Some(values) = self.values(argument) else {
                continue;
            };
            let place = format!("{{{}}}", argument.name);
            if path.contains(&place) {
                path = path.replace(&place, &escaped(&values.concat()));
            } else if has_query {
                let pairs = values
                    .iter()
                    .map(|value| format!("{}={}", argument.name, escaped(value)));
                query.extend(pairs);
            } else {
                members.insert(argument.name.clone(), json(argument, values));
            }
        }
        for (name, value) in &self.settings {
            members.insert(name.clone(), bare(value));
        }
        if let Some(wait_ms) = wait_ms {
            members.insert("wait_ms".to_owned(), wait_ms.into());
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        Request {
            method,
            path,
            body: (!has_query).then(|| Value::Object(members).to_string()),
        }
    }
}

fn escaped(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}

/// An argument's values with the types that JSON has.
fn json(argument: &Argument, values: &[String]) -> Value {
    if argument.kind == Kind::Pair {
        let pairs = values.chunks(2).map(|pair| Value::from(pair.to_vec()));
        return pairs.collect();
    }
    let mut each = values.iter().map(|value| one(argument, value));
    if argument.many.is_some() {
        each.collect()
    } else {
        each.next().unwrap_or_default()
    }
}

fn one(argument: &Argument, value: &str) -> Value {
    let is_bare = match argument.kind {
        Kind::Integer | Kind::Percent => value != "-",
        Kind::Choice => argument.values == ["true", "false"],
        _ => argument.is_json(),
    };
    if is_bare { bare(value) } else { value.into() }
}

/// What is JSON as it is; everything else is text.
fn bare(value: &str) -> Value {
    let json = RawValue::from_string(value.to_owned()).and_then(serde_json::to_value);
    json.unwrap_or_else(|_| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(call: &Call) -> String {
        let arguments = call.arguments();
        let words: Vec<_> = arguments
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        words.join(" ")
    }

    #[test]
    fn one_call_has_both_forms() {
        let pairs = ["en", "zh", "de", "fr"].map(str::to_owned);
        let call = Call::new("lockless_register")
            .with("node", "a/b c")
            .with("max_jobs", "-")
            .each("pairs", pairs)
            .each("labels", Vec::new())
            .maybe("region", None::<&str>)
            .with("caps", r#"{"a":1}"#);
        assert_eq!(
            words(&call),
            r#"a/b c - PAIR en zh PAIR de fr CAPS {"a":1}"#
        );
        let request = call.request(None);
        assert_eq!(
            (request.method, request.path.as_str()),
            ("PUT", "/v1/nodes/a%2Fb%20c")
        );
        assert_eq!(
            request.body.as_deref(),
            Some(r#"{"caps":{"a":1},"max_jobs":"-","pairs":[["en","zh"],["de","fr"]]}"#)
        );
    }

    #[test]
    fn numbers_and_words_keep_their_kind() {
        let call = Call::new("lockless_heartbeat")
            .with("node", "n")
            .with("online", "true")
            .with("cpu", 12.5)
            .with("gpu", -1)
            .with("incarnation", 7);
        assert_eq!(words(&call), "n ONLINE true CPU 12.5 GPU -1 INCARNATION 7");
        assert_eq!(
            call.request(None).body.as_deref(),
            Some(r#"{"cpu":12.5,"gpu":-1,"incarnation":7,"online":true}"#)
        );
    }

    #[test]
    fn what_is_deleted_is_asked_for_in_a_query() {
        let call = Call::new("lockless_deregister")
            .with("node", "n")
            .with("incarnation", 3);
        let expected = Request {
            method: "DELETE",
            path: "/v1/nodes/n?incarnation=3".to_owned(),
            body: None,
        };
        assert_eq!(call.request(None), expected);
    }

    #[test]
    fn settings_are_read_and_changed() {
        let read = Call::new("lockless_config");
        assert!(read.arguments().is_empty());
        let request = read.request(None);
        assert_eq!(
            (request.method, request.path.as_str(), request.body),
            ("GET", "/v1/config", None)
        );
        let change = read.setting("cpu_weight", 0.7).setting("mem_weight", 1.0);
        assert_eq!(words(&change), "cpu_weight 0.7 mem_weight 1");
        let request = change.request(None);
        assert_eq!(request.method, "PATCH");
        assert_eq!(
            request.body.as_deref(),
            Some(r#"{"cpu_weight":0.7,"mem_weight":1}"#)
        );
    }

    #[test]
    fn a_wait_is_told_to_a_gateway() {
        let call = Call::new("lockless_take").with("node", "n");
        assert_eq!(
            call.request(Some(500)).body.as_deref(),
            Some(r#"{"wait_ms":500}"#)
        );
    }
}
