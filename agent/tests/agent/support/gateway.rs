//! A real gateway.

use std::net::TcpListener;

use clap::Parser;

use super::eventually;

/// A gateway in this process, for as long as it lives.
pub(crate) fn start_gateway(redis_url: &str, more: &[&str]) -> String {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let address = format!("127.0.0.1:{port}");
    let own = [
        "gateway",
        "--redis",
        redis_url,
        "--listen",
        &address,
        "--threads",
        "1",
    ];
    let cli = lockless_gateway::settings::Cli::parse_from(own.iter().chain(more));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime
            .block_on(lockless_gateway::gateway::run(&cli.serve))
            .unwrap();
    });
    eventually("the gateway listens", || {
        std::net::TcpStream::connect(&address).is_ok()
    });
    let scheme = if more.contains(&"--tls-cert") {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{address}")
}
