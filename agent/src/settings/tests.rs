use std::path::Path;

use super::*;
use crate::deployments::Policy;

fn read(arguments: &[&str]) -> Result<(Given, Settings), String> {
    let cli = Cli::parse_from(["lockless-agent"].iter().chain(arguments));
    let given = cli.read()?;
    let settings = Settings::new(&given)?;
    Ok((given, settings))
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_flag_is_a_variable_too() {
    for argument in Cli::command().get_arguments() {
        let name = argument.get_id().as_str();
        if !["help", "version", "print_config"].contains(&name) {
            assert!(argument.get_env().is_some(), "{name} has no variable");
        }
    }
}

#[test]
fn a_flag_goes_before_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("agent.toml");
    let text = "node = \"from-file\"\nmax_jobs = 3\npools = [\"a\", \"b\"]\ntick_ms = 5\n[[allow]]\npath = \"/bin/sh\"\n";
    fs::write(&path, text).expect("written");
    let path = path.to_str().expect("text");
    let (_, settings) =
        read(&["--config", path, "--tick-ms", "7", "--pool", "c"]).expect("settings");
    assert_eq!(settings.node, "from-file");
    assert_eq!(settings.max_jobs, Some(3));
    assert_eq!(settings.tick, Some(Duration::from_millis(7)));
    assert_eq!(settings.pools, ["c"]);
    assert!(settings.allow.find("sh").is_ok());
}

#[test]
fn deployments_are_set_up_by_the_file_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("agent.toml");
    let text = "deployments = true\nclaim_interval_ms = 700\nclaim_policy = \"resource_usage\"\ncpu_weight = 0.7\nlog_files = 2\n";
    fs::write(&path, text).expect("written");
    let path = path.to_str().expect("text");
    let from_file = ["--config", path, "--state-dir", "/s", "--log-files", "3"];
    let (given, settings) = read(&from_file).expect("settings");
    let deploying = settings.deploying.clone().expect("deployments");
    assert_eq!(deploying.interval, Duration::from_millis(700));
    assert_eq!(deploying.policy, Some(Policy::ResourceUsage));
    assert_eq!(
        (deploying.cpu_weight, deploying.mem_weight),
        (Some(0.7), None)
    );
    assert_eq!(
        (deploying.log_files, deploying.log_max_bytes),
        (3, 10 << 20)
    );
    assert_eq!(deploying.log_dir, Path::new("/s/logs"));
    let text = shown(given, &settings).expect("text");
    let again: Given = toml::from_str(&text).expect("a file");
    let again = Settings::new(&again).expect("settings");
    assert_eq!(again.deploying, settings.deploying);
    let (_, without) = read(&["--log-files", "3"]).expect("settings");
    assert_eq!(without.deploying, None);
}

#[test]
fn what_the_file_says_of_deployments_is_checked() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("agent.toml");
    for (text, words) in [
        ("claim_interval_ms = 99", "claim_interval_ms takes"),
        ("claim_policy = \"cheapest\"", "cheapest"),
        ("cpu_weight = -1.0", "cpu_weight takes"),
        ("mem_weight = nan", "mem_weight takes"),
        ("log_files = 0", "log_files takes"),
    ] {
        fs::write(&path, text).expect("written");
        let refusal = read(&["--config", path.to_str().expect("text")]);
        let refusal = refusal.err().expect(words);
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn a_mistake_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("agent.toml");
    fs::write(&path, "nodes = 1\n").expect("written");
    let path = path.to_str().expect("text");
    let rows: [(&[&str], &str); 5] = [
        (&["--config", "/no/such/file"], "--config /no/such/file"),
        (&["--config", path], "unknown field `nodes`"),
        (&["--pair", "en"], "--pair takes two languages"),
        (
            &["--redis", "redis://a", "--gateway", "http://b"],
            "--redis and --gateway",
        ),
        (
            &["--gateway", "http://b", "--token-file", "/no/such"],
            "--token-file /no/such",
        ),
    ];
    for (arguments, words) in rows {
        let refusal = read(arguments).err().expect(words);
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn no_secret_is_shown_and_what_is_shown_can_be_read() {
    let secrets = [
        "--redis",
        "redis://u:hunter2@host:1",
        "--redis-password",
        "hunter2",
    ];
    let (given, settings) = read(&secrets).expect("settings");
    assert!(!format!("{given:?}").contains("hunter2"));
    let text = shown(given, &settings).expect("text");
    assert!(
        !text.contains("hunter2") && text.contains("(hidden)@host:1"),
        "{text}"
    );
    let again: Given = toml::from_str(&text).expect("a file");
    assert_eq!(again.node.as_deref(), Some(settings.node.as_str()));
}

#[test]
fn a_token_is_not_taken_as_a_flag() {
    for words in [&["--token", "hunter2"][..], &["--token=hunter2"]] {
        let refusal = Cli::from_words(["lockless-agent"].iter().chain(words));
        let refusal = refusal.expect_err("a flag").to_string();
        assert!(
            refusal.contains("--token-file") && !refusal.contains("hunter2"),
            "{refusal}"
        );
    }
}

#[test]
fn a_mistake_in_the_file_is_placed_without_showing_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("agent.toml");
    for (text, place) in [
        ("node = \"n\"\ntoken = \"hunter2\" x\n", "line 2, column"),
        ("redis_password = \"hunter2\n", "line 1, column"),
        ("max_jobs = 1\ntokens = \"hunter2\"", "line 2, column 1:"),
    ] {
        fs::write(&path, text).expect("written");
        let refusal = read(&["--config", path.to_str().expect("text")]);
        let refusal = refusal.err().expect(place);
        assert!(
            refusal.contains(place) && !refusal.contains("hunter2"),
            "{refusal}"
        );
    }
}
