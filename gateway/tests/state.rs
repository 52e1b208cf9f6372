//! The file that keeps an embedded gateway's state: across ends of every kind, damage, two who want it, and a full disk.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use serde_json::json;
use support::{Gateway, eventually};
use tempfile::TempDir;

fn a_file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cell.state");
    (dir, file)
}

fn start(file: &Path) -> Gateway {
    Gateway::embedded(&["--state", file.to_str().unwrap(), "--state-every-ms", "300"])
}

fn stop(mut gateway: Gateway) {
    gateway.terminate();
    assert!(gateway.wait_for_end(), "{}", gateway.log());
}

/// What a gateway that does not start says.
fn refusal(file: &Path) -> String {
    let mut command = Gateway::command();
    command
        .args(["--listen", "127.0.0.1:0", "--state"])
        .arg(file);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(
        !text.contains("panicked") && text.lines().count() == 1,
        "{text}"
    );
    assert!(
        text.contains("--state") && text.contains(file.to_str().unwrap()),
        "{text}"
    );
    text
}

fn measure(gateway: &Gateway, name: &str) -> f64 {
    let page = gateway.get("/metrics").text;
    let line = page
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Returns when all that was done before is in the file.
fn wait_for_save(gateway: &Gateway) {
    let saves = || measure(gateway, "lockless_state_saves_total");
    // The next one may have begun already.
    let enough = saves() + 2.0;
    eventually("it is saved", || saves() >= enough);
}

fn dispatch(gateway: &Gateway, job: &str) -> u16 {
    let job = json!({ "session": "s", "payload": { "of": job }, "job": job });
    gateway.post("/v1/jobs", &job).status
}

#[test]
fn a_gateway_that_is_told_to_end_keeps_everything() {
    let (_dir, file) = a_file();
    let gateway = start(&file);
    gateway.put("/v1/nodes/n1", &json!({ "max_jobs": 2 })).ok();
    let elsewhere = [("lockless-cell", "t:{other}")];
    gateway
        .send("PUT", "/v1/nodes/n2", &elsewhere, Some("{}"))
        .ok();
    assert_eq!(
        (dispatch(&gateway, "j1"), dispatch(&gateway, "j2")),
        (200, 200)
    );
    stop(gateway);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let gateway = start(&file);
    let job = gateway.get("/v1/jobs/j1").ok();
    assert_eq!(
        (&job["status"], &job["payload_json"]),
        (&json!("dispatched"), &json!({ "of": "j1" }))
    );
    // The slots are still taken, and the node is still there to give them back.
    assert_eq!(dispatch(&gateway, "j3"), 503);
    let end = json!({ "node": "n1", "status": "finished" });
    gateway.post("/v1/jobs/j1/complete", &end).ok();
    assert_eq!(dispatch(&gateway, "j3"), 200);
    let nodes = gateway.send("GET", "/v1/nodes", &elsewhere, None).ok();
    assert_eq!(nodes["nodes"], json!(["n2"]));
    assert_eq!(gateway.get("/v1/check").ok()["violations"], json!([]));
}

#[test]
fn what_is_answered_while_it_ends_is_kept_too() {
    let (_dir, file) = a_file();
    let mut gateway = start(&file);
    gateway
        .put("/v1/nodes/n1", &json!({ "max_jobs": 100_000 }))
        .ok();
    let answered = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for name in 0..4 {
            let (gateway, answered) = (&gateway, &answered);
            scope.spawn(move || {
                for count in 0.. {
                    let id = format!("{name}-{count}");
                    let job = json!({ "session": "s", "payload": 1, "job": id }).to_string();
                    match gateway.try_send("POST", "/v1/jobs", &[], Some(&job)) {
                        Ok(answer) => {
                            answer.ok();
                            answered.lock().unwrap().push(id);
                        }
                        // It is gone.
                        Err(_) => return,
                    }
                }
            });
        }
        eventually("there is load", || answered.lock().unwrap().len() > 200);
        gateway.terminate();
    });
    assert!(gateway.wait_for_end(), "{}", gateway.log());
    let again = start(&file);
    for job in answered.into_inner().unwrap() {
        assert_eq!(
            again.get(&format!("/v1/jobs/{job}")).ok()["status"],
            "dispatched"
        );
    }
}

#[test]
fn a_gateway_that_is_killed_has_what_it_had_when_it_saved_last() {
    let (_dir, file) = a_file();
    let gateway = start(&file);
    gateway.put("/v1/nodes/n1", &json!({ "max_jobs": 3 })).ok();
    assert_eq!(dispatch(&gateway, "saved"), 200);
    wait_for_save(&gateway);
    // SIGKILL.
    drop(gateway);
    let gateway = start(&file);
    assert_eq!(gateway.get("/v1/jobs/saved").ok()["status"], "dispatched");
    assert_eq!(gateway.get("/v1/nodes/n1").ok()["current_jobs"], 1);
    assert_eq!(gateway.get("/v1/check").ok()["violations"], json!([]));
    gateway.post("/v1/nodes/n1/heartbeat", &json!({})).ok();
    stop(gateway);
}

#[test]
fn a_file_that_is_not_right_is_refused_and_left_alone() {
    let (dir, file) = a_file();
    let gateway = start(&file);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    stop(gateway);
    let sound = fs::read(&file).unwrap();
    let with = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    let rows = [
        (with(0), "not a state file"),
        (with(16), "version 0"),
        (with(20), "bytes of state instead of"),
        (with(28), "SHA-256"),
        (with(60), "SHA-256"),
        (with(sound.len() - 1), "SHA-256"),
        (
            sound[..sound.len() / 2].to_vec(),
            "bytes of state instead of",
        ),
        (sound[..20].to_vec(), "its end is missing"),
        (Vec::new(), "not a state file"),
        (b"# A list of tokens\n".to_vec(), "not a state file"),
    ];
    for (bytes, word) in rows {
        fs::write(&file, &bytes).unwrap();
        let text = refusal(&file);
        assert!(
            text.contains(word) && text.contains("left as it is"),
            "{word}: {text}"
        );
        assert_eq!(fs::read(&file).unwrap(), bytes, "{word}");
    }
    fs::write(&file, sound).unwrap();
    assert_eq!(start(&file).get("/v1/nodes").ok()["nodes"], json!(["n1"]));
    let names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "the file and its lock: {names:?}");
}

#[test]
fn a_file_is_one_gateways_at_a_time_whatever_it_is_called() {
    let (dir, file) = a_file();
    let link = dir.path().join("link.state");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let gateway = start(&file);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    wait_for_save(&gateway);
    for name in [&file, &link] {
        let text = refusal(name);
        assert!(text.contains("in use by another gateway"), "{text}");
    }
    gateway.put("/v1/nodes/n2", &json!({})).ok();
    stop(gateway);
    // What the link leads to is written, not the link.
    let gateway = start(&link);
    assert_eq!(gateway.get("/v1/nodes").ok()["nodes"], json!(["n1", "n2"]));
    gateway.put("/v1/nodes/n3", &json!({})).ok();
    stop(gateway);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        start(&file).get("/v1/nodes").ok()["nodes"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_place_that_can_not_be_written_is_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let rows = [
        (
            dir.path().join("missing/cell.state"),
            "No such file or directory",
        ),
        (dir.path().to_owned(), "directory"),
        // Nobody may make files there, not even root.
        (PathBuf::from("/proc/cell.state"), "can't be written"),
    ];
    for (file, word) in rows {
        let text = refusal(&file);
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_full_disk_is_told_of_harms_nothing_and_passes() {
    // A small disk of its own, which goes with the process.
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().to_str().unwrap().to_owned();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command
        .arg(r#"mount -t tmpfs -o size=1m none "$0" && exec "$@""#)
        .arg(&disk);
    let file = format!("{disk}/cell.state");
    let gateway = Gateway::embedded_in(command, &["--state", &file, "--state-every-ms", "300"]);
    let seen = PathBuf::from(format!("/proc/{}/root{disk}", gateway.pid()));
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    assert_eq!(dispatch(&gateway, "j1"), 200);
    wait_for_save(&gateway);
    let sound = fs::read(seen.join("cell.state")).unwrap();

    let filler = seen.join("filler");
    let _ = fs::write(&filler, vec![0; 2 << 20]);
    assert_eq!(dispatch(&gateway, "j2"), 200);
    eventually("it is told", || {
        gateway
            .get("/readyz")
            .text
            .contains("No space left on device")
    });
    assert_eq!(gateway.get("/readyz").ok()["ready"], true);
    assert!(measure(&gateway, "lockless_state_save_failures_total") >= 1.0);
    assert!(gateway.log().contains("the state can't be saved"));
    assert_eq!(
        fs::read(seen.join("cell.state")).unwrap(),
        sound,
        "the old one stays"
    );
    assert!(
        !seen.join("cell.state.tmp").exists(),
        "what was begun is gone"
    );
    assert_eq!(dispatch(&gateway, "j3"), 200);

    fs::remove_file(&filler).unwrap();
    eventually("it is saved again", || {
        gateway.get("/readyz").ok() == json!({ "ready": true })
    });
    assert_ne!(fs::read(seen.join("cell.state")).unwrap(), sound);
    assert!(measure(&gateway, "lockless_state_unsaved_seconds") < 30.0);
    let copy = dir.path().join("copy.state");
    fs::write(&copy, fs::read(seen.join("cell.state")).unwrap()).unwrap();
    stop(gateway);
    assert_eq!(start(&copy).get("/v1/jobs/j3").ok()["status"], "dispatched");
}

#[test]
fn an_end_that_can_not_be_saved_is_an_error() {
    let (dir, file) = a_file();
    let mut gateway = start(&file);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    // Something is where the next file is to be made.
    fs::create_dir(dir.path().join("cell.state.tmp")).unwrap();
    gateway.terminate();
    assert!(!gateway.wait_for_end());
    assert!(
        gateway.log().contains("error: the state can't be saved"),
        "{}",
        gateway.log()
    );
}

#[test]
fn a_state_that_has_not_changed_is_not_written_again() {
    let (_dir, file) = a_file();
    let gateway = start(&file);
    wait_for_save(&gateway);
    let written = fs::metadata(&file).unwrap().modified().unwrap();
    wait_for_save(&gateway);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
}
