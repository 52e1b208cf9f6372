//! The contract as a page for reading, at `/docs`. It is made once, and needs neither scripts nor the network.

use std::borrow::Cow;
use std::fmt::Write as _;

use data_encoding::BASE64;
use lockless_functions::api::{Argument, Field, FieldKind, Function, ReplyShape};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::contract::{self, Route};
use crate::openapi::example;
use crate::problem::{self, OWN};

/// The heading of what is about the cell as a whole.
const CELL: &str = "cell";
const STYLE: &str = include_str!("style.css");
const INTRODUCTION: &str = include_str!("introduction.html");

/// What the page may load: its own style and icon, and nothing else.
pub fn content_security_policy() -> String {
    let digest = BASE64.encode(&Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The page.
pub fn page(wait_limit_ms: u64) -> String {
    let routes = contract::routes();
    let mut subjects: Vec<&str> = Vec::new();
    for route in routes {
        if !subjects.contains(&subject(route)) {
            subjects.push(subject(route));
        }
    }
    // What is about the cell as a whole comes last.
    subjects.sort_by_key(|subject| *subject == CELL);
    let mut navigation = String::new();
    let mut articles = String::new();
    for about in subjects {
        let _ = write!(navigation, "<h2>{about}</h2><ul>");
        let _ = write!(
            articles,
            "<section aria-labelledby=\"about-{about}\"><h2 id=\"about-{about}\">{about}</h2>"
        );
        for route in routes.iter().filter(|route| subject(route) == about) {
            let anchor = route.operation_id();
            let _ = write!(
                navigation,
                "<li><a href=\"#{anchor}\">{}</a></li>",
                anchor.replace('_', " ")
            );
            article(&mut articles, route, wait_limit_ms);
        }
        navigation.push_str("</ul>");
        articles.push_str("</section>");
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Lockless over HTTP</title><link rel=\"icon\" href=\"/assets/icon.svg\"><style>{STYLE}</style></head><body>\
         <a class=\"skip\" href=\"#content\">To the content</a><div class=\"frame\">\
         <nav aria-label=\"Contents\"><a href=\"#content\"><strong>Lockless {}</strong></a>{navigation}\
         <h2>more</h2><ul><li><a href=\"#errors\">errors</a></li><li><a href=\"#settings\">settings</a></li>\
         <li><a href=\"/openapi.json\">openapi.json</a></li><li><a href=\"/\">dashboard</a></li>\
         <li><a href=\"/playground\">playground</a></li></ul></nav>\
         <main id=\"content\">{INTRODUCTION}{articles}{}{}</main></div></body></html>\n",
        lockless_functions::VERSION,
        errors(),
        settings(),
    )
}

/// What a route is about, if it has company there; else it is about the cell.
fn subject(route: &Route) -> &'static str {
    let about = route.subject();
    let company = contract::routes()
        .iter()
        .filter(|other| other.subject() == about);
    if company.count() > 2 { about } else { CELL }
}

fn article(out: &mut String, route: &Route, wait_limit_ms: u64) {
    let function = route.function;
    let mut roles: Vec<String> = function.roles.iter().map(ToString::to_string).collect();
    roles.push("operator".to_owned());
    let _ = write!(
        out,
        "<article id=\"{}\"><h3><span class=\"method {method}\">{method}</span> {}</h3><p>{}</p>\
         <p class=\"quiet\"><code>{}</code> for {}</p><pre tabindex=\"0\">{}</pre>",
        route.operation_id(),
        escaped(route.path),
        escaped(&function.summary),
        function.name,
        roles.join(", "),
        escaped(&curl(route)),
        method = route.method,
    );
    if route.takes_arguments {
        arguments(out, function, wait_limit_ms);
    }
    if let Some(stream) = &function.stream {
        let _ = write!(
            out,
            "<p>With <code>Accept: text/event-stream</code> it goes on for as long as you read: each of <code>{}</code> is \
             an event, from <code>Last-Event-ID</code>, else <code>{}</code>, else from now on.</p>",
            stream.list, stream.position
        );
    }
    let _ = write!(out, "<p>Answers {}.</p>", reply(function));
    let codes: Vec<String> = function
        .errors
        .iter()
        .map(|code| format!("<a href=\"#{code}\">{code}</a>"))
        .collect();
    let _ = write!(out, "<p class=\"quiet\">{}</p></article>", codes.join(", "));
}

fn arguments(out: &mut String, function: &Function, wait_limit_ms: u64) {
    if function.rest.is_some() {
        out.push_str("<p>Takes any of the <a href=\"#settings\">settings</a>.</p>");
        return;
    }
    let given: Vec<&Argument> = function.args.iter().chain(&function.options).collect();
    if given.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table><thead><tr><th scope=\"col\">field</th><th scope=\"col\">takes</th><th scope=\"col\"></th></tr></thead><tbody>");
    for argument in given {
        let mut takes = if argument.is_json() {
            "any JSON".to_owned()
        } else {
            argument.takes()
        };
        if let Some(many) = argument.many {
            takes = format!("a list of at most {many}, each {takes}");
        }
        let needed = argument.is_required_over_http();
        let _ = write!(
            out,
            "<tr><td><code>{}</code>{}</td><td>{}</td><td>{}</td></tr>",
            argument.name,
            if needed { " required" } else { "" },
            escaped(&takes),
            escaped(argument.summary.as_deref().unwrap_or_default()),
        );
    }
    if let Some(wait) = &function.wait {
        let _ = write!(
            out,
            "<tr><td><code>wait_ms</code></td><td>a whole number from 0 to {wait_limit_ms}</td><td>wait so long for news of this {}</td></tr>",
            wait.argument,
        );
    }
    out.push_str("</tbody></table></div>");
}

fn reply(function: &Function) -> String {
    match function.reply {
        ReplyShape::Ok => "<code>{\"ok\":true}</code>".to_owned(),
        ReplyShape::Fields if function.rest.is_some() => "every setting".to_owned(),
        _ => {
            let names: Vec<String> = function.fields.iter().map(field).collect();
            names.join(", ")
        }
    }
}

fn field(field: &Field) -> String {
    let record = field
        .of
        .as_deref()
        .and_then(|of| contract::api().record(of));
    match (field.kind, record) {
        (FieldKind::Records, Some(record)) => {
            let names: Vec<&str> = record
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .collect();
            format!(
                "<code>{}</code> (a list, each with {})",
                field.name,
                names.join(", ")
            )
        }
        _ => format!("<code>{}</code>", field.name),
    }
}

/// A line to paste, with the required arguments.
fn curl(route: &Route) -> String {
    let function = route.function;
    let in_path = &route.path_arguments;
    let mut path = route.path.to_owned();
    let mut rest = Map::new();
    for argument in function.args.iter().chain(&function.options) {
        let value = example(argument);
        if in_path.contains(&argument.name.as_str()) {
            path = path.replace(&format!("{{{}}}", argument.name), &text(&value));
        } else if argument.is_required_over_http() && route.takes_arguments {
            rest.insert(argument.name.clone(), value);
        }
    }
    let address = "http://127.0.0.1:8080";
    if route.has_query() {
        let query: Vec<String> = rest
            .iter()
            .map(|(name, value)| format!("{name}={}", text(value)))
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let method = match route.method.as_str() {
            "GET" => String::new(),
            other => format!("-X {other} "),
        };
        return format!("curl {method}'{address}{path}{mark}{}'", query.join("&"));
    }
    let method = match route.method.as_str() {
        "POST" => String::new(),
        other => format!("-X {other} "),
    };
    format!(
        "curl {method}{address}{path} --json '{}'",
        Value::Object(rest)
    )
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn errors() -> String {
    let listed = contract::api()
        .errors
        .iter()
        .map(|error| (error.code.as_str(), error.summary.as_str()));
    let own = OWN.iter().map(|own| (own.code, own.summary));
    let mut out = String::from(
        "<section aria-labelledby=\"errors\"><h2 id=\"errors\">Errors</h2><p>An error is <code>application/problem+json</code>: \
         <code>code</code> says which, <code>detail</code> is a sentence about this case. What may be tried again carries <code>Retry-After</code>.</p>\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table><thead><tr><th scope=\"col\">code</th><th scope=\"col\">status</th><th scope=\"col\">meaning</th></tr></thead><tbody>",
    );
    for (code, summary) in listed.chain(own) {
        let _ = write!(
            out,
            "<tr id=\"{code}\"><td><code>{code}</code></td><td>{}</td><td>{}</td></tr>",
            problem::status_of(code).as_u16(),
            escaped(summary)
        );
    }
    out.push_str("</tbody></table></div></section>");
    out
}

fn settings() -> String {
    let mut out = String::from(
        "<section aria-labelledby=\"settings\"><h2 id=\"settings\">Settings of a cell</h2><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table><thead><tr>\
         <th scope=\"col\">setting</th><th scope=\"col\">default</th><th scope=\"col\">takes</th><th scope=\"col\"></th></tr></thead><tbody>",
    );
    for setting in &contract::api().settings {
        let _ = write!(
            out,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            setting.name,
            setting.default,
            escaped(&setting.takes()),
            escaped(&setting.summary)
        );
    }
    out.push_str("</tbody></table></div></section>");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_and_every_code_is_on_the_page() {
        let page = page(60_000);
        for route in contract::routes() {
            let anchor = format!("<article id=\"{}\">", route.operation_id());
            assert_eq!(page.matches(&anchor).count(), 1, "{anchor}");
        }
        for error in &contract::api().errors {
            assert!(page.contains(&format!("<tr id=\"{}\">", error.code)));
        }
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let page = page(60_000);
        for word in ["<script", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(content_security_policy().contains("default-src 'none'"));
    }

    #[test]
    fn lines_to_paste_carry_what_is_required() {
        let line = |function: &str| {
            let route = contract::routes()
                .iter()
                .find(|route| route.function.name == function);
            curl(route.expect("a route"))
        };
        assert_eq!(
            line("lockless_dispatch"),
            r#"curl http://127.0.0.1:8080/v1/jobs --json '{"payload":{"text":"hello"},"session":"session-1"}'"#
        );
        assert_eq!(
            line("lockless_tick"),
            r#"curl http://127.0.0.1:8080/v1/nodes/node-1/tick --json '{"avail_mb":5000,"cpu":20,"mem":20,"swap":20,"total_mb":5000,"used_mb":5000}'"#
        );
        assert_eq!(
            line("lockless_node"),
            "curl 'http://127.0.0.1:8080/v1/nodes/node-1'"
        );
        assert_eq!(
            line("lockless_deregister"),
            "curl -X DELETE 'http://127.0.0.1:8080/v1/nodes/node-1'"
        );
    }
}
