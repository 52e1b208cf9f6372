use super::*;
use crate::contract;

fn function(name: &str) -> &'static Function {
    contract::api()
        .function(name)
        .expect("a function of the contract")
}

fn marshalled(name: &str, path: &[(&'static str, &str)], json: &str) -> Result<String, String> {
    let body = Bytes::copy_from_slice(json.as_bytes());
    let given = Given {
        path: path
            .iter()
            .map(|(name, value)| (*name, Cow::from((*value).to_owned())))
            .collect(),
        fields: Fields::from_json(&body).map_err(|problem| problem.detail().to_owned())?,
        key: None,
        wait_limit_ms: WAIT_MS_LIMIT,
        body: &body,
    };
    arguments(function(name), given, || "fresh".to_owned())
        .map(|done| {
            let words: Vec<_> = done
                .arguments
                .iter()
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect();
            words.join(" ")
        })
        .map_err(|problem| problem.detail().to_owned())
}

#[test]
fn arguments_come_in_the_order_of_the_contract() {
    let json = r#"{"labels": ["gpu"], "pairs": [["en", "zh"], ["de", "fr"]], "max_jobs": 4, "caps": {"a": 1.0}}"#;
    assert_eq!(
        marshalled("lockless_register", &[("node", "n1")], json).as_deref(),
        Ok("n1 4 PAIR en zh PAIR de fr LABEL gpu CAPS {\"a\": 1.0}")
    );
}

#[test]
fn what_is_absent_gets_its_default_and_a_key() {
    assert_eq!(
        marshalled(
            "lockless_dispatch",
            &[],
            r#"{"session": "s", "payload": null, "pool": null}"#
        )
        .as_deref(),
        Ok("s - - null JOB fresh")
    );
}

#[test]
fn a_payload_is_passed_on_as_it_was_written() {
    let json = r#"{"session":"s","job":"j","payload": { "b" : 1.50, "a":"\u00e9\n" } }"#;
    assert_eq!(
        marshalled("lockless_dispatch", &[], json).as_deref(),
        Ok(r#"s - - { "b" : 1.50, "a":"\u00e9\n" } JOB j"#)
    );
}

#[test]
fn a_mistake_is_named() {
    let rows = [
        (
            r#"{"payload": 1}"#,
            "session is missing: it takes a string: 1 to 200",
        ),
        (
            r#"{"session": 5, "payload": 1}"#,
            "session takes a string: 1 to 200 printable characters without spaces, given 5",
        ),
        (
            r#"{"session": "s", "payload": 1, "ttl": "x"}"#,
            "ttl takes a whole number from 1 to 604800000, given \"x\"",
        ),
        (
            r#"{"session": "s", "payload": 1, "require": "gpu"}"#,
            "require takes a list of at most 64, each a string",
        ),
        (
            r#"{"session": "s", "payload": 1, "colour": "red"}"#,
            "unknown field 'colour': lockless_dispatch takes session, src, tgt",
        ),
        (
            r#"{"session": "s", "session": "s"}"#,
            "the field session is there twice",
        ),
        (r#"[1]"#, "the body is not a JSON object"),
        (r#"{"session": "#, "the body is not a JSON object: EOF"),
        ("\n", "the body is not a JSON object: EOF"),
        ("\x0c", "the body is not a JSON object: expected value"),
    ];
    for (json, sentence) in rows {
        let told = marshalled("lockless_dispatch", &[], json).expect_err(json);
        assert!(told.contains(sentence), "{json}: {told}");
    }
}

#[test]
fn numbers_are_read_however_they_are_written() {
    let rows = [
        ("4", "4"),
        ("4.0", "4"),
        ("4e0", "4"),
        ("0.4E1", "4"),
        ("12.50", "12.5"),
        ("-0", "0"),
        ("-1", "-1"),
    ];
    for (json, sent) in rows {
        let body = format!(r#"{{"gpu": {json}}}"#);
        assert_eq!(
            marshalled("lockless_heartbeat", &[("node", "n")], &body),
            Ok(format!("n GPU {sent}"))
        );
    }
}

#[test]
fn a_name_with_escapes_is_read() {
    assert_eq!(
        marshalled(
            "lockless_dispatch",
            &[],
            r#"{"sessio\u006e": "\u0073", "job": "j", "payload": 1}"#
        )
        .as_deref(),
        Ok("s - - 1 JOB j")
    );
}

#[test]
fn the_argument_in_the_path_may_not_be_given_twice() {
    let told = marshalled("lockless_register", &[("node", "n1")], r#"{"node": "n2"}"#);
    assert_eq!(
        told,
        Err("node is in the path, and may not be given a second time".to_owned())
    );
}

#[test]
fn settings_are_numbers_words_and_booleans() {
    let json = r#"{"heartbeat_ttl_ms": 500, "dry_run": true, "events": "all"}"#;
    assert_eq!(
        marshalled("lockless_config", &[], json).as_deref(),
        Ok("heartbeat_ttl_ms 500 dry_run true events all")
    );
    for (json, sentence) in [
        (
            r#"{"heartbeat_ttl_ms": "500"}"#,
            "heartbeat_ttl_ms takes a whole number from 100 to 1800000, given \"500\"",
        ),
        (
            r#"{"dry_run": "true"}"#,
            "dry_run takes one of true, false, given \"true\"",
        ),
        (
            r#"{"events": 5}"#,
            "events takes one of lifecycle, all, given 5",
        ),
    ] {
        assert_eq!(
            marshalled("lockless_config", &[], json),
            Err(sentence.to_owned())
        );
    }
    let tiny = r#"{"heartbeat_ttl_ms": 1e-9, "cpu_weight": 5e-1}"#;
    assert_eq!(
        marshalled("lockless_config", &[], tiny).as_deref(),
        Ok("heartbeat_ttl_ms 1e-9 cpu_weight 0.5")
    );
}

#[test]
fn a_query_gives_strings_and_lists() {
    let given = Given {
        path: Vec::new(),
        fields: Fields::from_query("session=s%201&require=a&require=b&pool=p").expect("a query"),
        key: None,
        wait_limit_ms: WAIT_MS_LIMIT,
        body: &Bytes::new(),
    };
    let done = arguments(function("lockless_explain"), given, String::new).expect("arguments");
    let words: Vec<_> = done
        .arguments
        .iter()
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    assert_eq!(
        words,
        ["s 1", "-", "-", "POOL", "p", "REQUIRE", "a", "REQUIRE", "b"]
    );
}

#[test]
fn a_request_with_very_many_fields_is_refused_early() {
    let members: Vec<String> = (0..100_000).map(|at| format!("\"f{at}\":0")).collect();
    let told = marshalled(
        "lockless_dispatch",
        &[],
        &format!("{{{}}}", members.join(",")),
    );
    assert!(told.is_err_and(|told| told.contains("more fields than any call takes")));
    let names: Vec<String> = (0..100_000).map(|at| format!("f{at}=0")).collect();
    assert!(Fields::from_query(&names.join("&")).is_err());
    assert!(Fields::from_query(&"require=a&".repeat(2000)).is_err());
}

#[test]
fn a_key_in_header_and_body_must_be_one() {
    let body = Bytes::from_static(br#"{"session": "s", "payload": 1, "job": "a"}"#);
    for (key, good) in [("a", true), ("b", false)] {
        let given = Given {
            path: Vec::new(),
            fields: Fields::from_json(&body).expect("JSON"),
            key: Some(key),
            wait_limit_ms: WAIT_MS_LIMIT,
            body: &body,
        };
        let done = arguments(function("lockless_dispatch"), given, String::new);
        assert_eq!(done.is_ok(), good, "{key}");
    }
}
