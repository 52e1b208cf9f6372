use super::*;

fn bytes(text: &str) -> Reply {
    Reply::Bytes(Bytes::copy_from_slice(text.as_bytes()))
}

fn texts(words: &[&str]) -> Reply {
    Reply::List(words.iter().map(|word| bytes(word)).collect())
}

fn shown(name: &str, value: Reply) -> String {
    let function = lockless_functions::contract()
        .function(name)
        .expect("a function of the contract");
    String::from_utf8(reply(function, value).expect("a reply")).expect("UTF-8")
}

#[test]
fn each_shape_is_an_object_with_the_names_of_the_contract() {
    assert_eq!(shown("lockless_ack", bytes("OK")), r#"{"ok":true}"#);
    assert_eq!(
        shown("lockless_reserve", Reply::Integer(1)),
        r#"{"reserved":true}"#
    );
    assert_eq!(
        shown("lockless_sweep", Reply::Integer(7)),
        r#"{"settled":7}"#
    );
    assert_eq!(
        shown("lockless_dispatch", texts(&["n\"1", "j1"])),
        r#"{"node_id":"n\"1","job_id":"j1"}"#
    );
    assert_eq!(
        shown(
            "lockless_nodes",
            Reply::List(vec![bytes("0"), texts(&["a", "b"])])
        ),
        r#"{"cursor":"0","nodes":["a","b"]}"#
    );
    assert_eq!(
        shown(
            "lockless_register",
            Reply::List(vec![
                bytes("incarnation"),
                Reply::Integer(3),
                bytes("held"),
                Reply::Integer(0),
                bytes("assigned"),
                Reply::List(vec![Reply::List(vec![bytes("d1"), Reply::Integer(2)])]),
            ])
        ),
        r#"{"incarnation":3,"held":0,"assigned":[{"id":"d1","revision":2}]}"#
    );
}

#[test]
fn job_items_carry_their_payload_byte_for_byte() {
    let item = vec![
        bytes("job_id"),
        bytes("j"),
        bytes("payload"),
        bytes(" {\"x\" : 1.0}"),
        bytes("deadline_ts"),
        bytes(""),
    ];
    let jobs = Reply::List(vec![Reply::List(item)]);
    assert_eq!(
        shown("lockless_take", Reply::List(vec![jobs, texts(&["s"])])),
        r#"{"jobs":[{"job_id":"j","payload": {"x" : 1.0},"deadline_ts":null}],"stop":["s"]}"#
    );
}

#[test]
fn what_is_no_json_is_told_as_such() {
    let job = |payload: &[u8]| {
        Reply::List(vec![
            bytes("payload_json"),
            Reply::Bytes(Bytes::copy_from_slice(payload)),
        ])
    };
    assert_eq!(
        shown("lockless_job", job(b"plain")),
        r#"{"payload_json":"plain","payload_json_encoding":"text"}"#
    );
    assert_eq!(
        shown("lockless_job", job(b"\xff\x00")),
        r#"{"payload_json":"/wA=","payload_json_encoding":"base64"}"#
    );
    assert_eq!(
        shown("lockless_job", job(b"\"plain\"")),
        r#"{"payload_json":"plain"}"#
    );
}

#[test]
fn numbers_booleans_and_pairs_have_their_types() {
    let values = vec![
        bytes("online"),
        bytes("true"),
        bytes("pairs"),
        texts(&["en:zh"]),
        bytes("cpu"),
        bytes("20.50"),
        bytes("gpu"),
        bytes("-1"),
        bytes("mem"),
        bytes(""),
        bytes("labels"),
        Reply::List(Vec::new()),
    ];
    assert_eq!(
        shown("lockless_node", Reply::List(values)),
        r#"{"online":true,"pairs":[["en","zh"]],"cpu":20.5,"gpu":-1,"mem":null,"labels":[]}"#
    );
}

#[test]
fn settings_have_their_types() {
    let values = [
        "heartbeat_ttl_ms",
        "30000",
        "cpu_weight",
        "0.5",
        "dry_run",
        "false",
        "events",
        "all",
    ];
    assert_eq!(
        shown("lockless_config", texts(&values)),
        r#"{"heartbeat_ttl_ms":30000,"cpu_weight":0.5,"dry_run":false,"events":"all"}"#
    );
}

#[test]
fn another_shape_is_an_error_that_names_the_place() {
    let function = lockless_functions::contract()
        .function("lockless_sweep")
        .expect("a function");
    assert!(reply(function, bytes("OK")).is_err());
    let function = lockless_functions::contract()
        .function("lockless_take")
        .expect("a function");
    let told = reply(function, Reply::List(vec![bytes("x"), texts(&[])]))
        .map_err(|error| error.to_string());
    assert_eq!(
        told,
        Err("lockless_take replied something else than its contract says, in jobs".to_owned())
    );
}
