//! Holds the gateway to its OpenAPI document: the document is valid, and what it allows and forbids is answered as it says.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use lockless_servers::Standalone;
use serde_json::json;

use crate::gateway::{self, Gateway};
use crate::{deploy, python, run};

/// So many requests for each operation, of those that are made up: with a Redis, and with the embedded scheduler, which answers
/// the same through the same code.
const EXAMPLES: &str = "25";
const EXAMPLES_EMBEDDED: &str = "8";

/// Runs openapi-spec-validator and schemathesis against private gateways: one with an embedded scheduler, one with a Redis.
pub(crate) fn run() -> Result<()> {
    let settings = run::repository().join("gateway/tests/schemathesis");
    let requirements = fs::read_to_string(settings.join("requirements.txt"))
        .context("the list of packages could not be read")?;
    let packages: Vec<&str> = requirements.lines().collect();
    let work = run::repository().join("target/openapi");
    let python = python::venv(&work.join("venv"), &packages)?;

    let program = gateway::build()?;
    let server = Standalone::builder().private().start()?;
    deploy::load_quietly(&server.url())?;
    // Some requests ask for a replica's confirmation.
    let _replica = Standalone::builder().replica_of(server.port()).start()?;
    for (redis_url, examples) in [(None, EXAMPLES_EMBEDDED), (Some(server.url()), EXAMPLES)] {
        // No request of thousands should wait for long.
        let arguments = ["--max-wait-ms", "20"];
        let gateway = Gateway::start(&program, redis_url.as_deref(), 0, &arguments)?;
        hold(&gateway, examples, &python, &settings, &work)?;
    }
    println!("The gateway is as its OpenAPI document says, embedded and with a Redis.");
    Ok(())
}

/// Holds one gateway to its document.
fn hold(
    gateway: &Gateway,
    examples: &str,
    python: &Path,
    settings: &Path,
    work: &Path,
) -> Result<()> {
    let address = format!("{}/openapi.json", gateway.address());
    a_node(gateway.address())?;

    let document = ureq::get(&address).call()?.body_mut().read_to_string()?;
    let file = work.join("openapi.json");
    fs::write(&file, document)
        .with_context(|| format!("{} could not be written", file.display()))?;
    run::quietly(
        Command::new(python)
            .args(["-m", "openapi_spec_validator"])
            .arg(&file),
    )?;

    // Settings that are made up make a cell useless for the others, so they come last.
    let seed = std::process::id().to_string();
    for selection in ["--exclude-operation-id", "--include-operation-id"] {
        let mut schemathesis = Command::new(python.with_file_name("st"));
        schemathesis
            .arg("--config-file")
            .arg(settings.join("schemathesis.toml"))
            .args(["run", &address, selection, "config"])
            .args(["--max-examples", examples, "--seed", &seed])
            .env("NO_COLOR", "1")
            .current_dir(work);
        run::quietly(&mut schemathesis)?;
    }
    Ok(())
}

/// Gives requests for work someone who can do it.
fn a_node(address: &str) -> Result<()> {
    let node = json!({
        "max_jobs": 100_000,
        "pools": ["default", "pool-1"],
        "pairs": [["en", "zh"]],
        "labels": ["require-1"],
        "region": "region-1",
    });
    ureq::put(format!("{address}/v1/nodes/node-7"))
        .content_type("application/json")
        .send(node.to_string())?;
    Ok(())
}
