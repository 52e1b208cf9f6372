//! The gateway of the tests in the browser. It is the same program, built with them, so that a test never meets pages of
//! another time.

use clap::Parser;
use lockless_gateway::gateway;
use lockless_gateway::settings::Cli;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    gateway::run(&Cli::parse().serve).await
}
