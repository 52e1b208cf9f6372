//! A real agent, with real processes, beside a real Redis.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod command_line;
mod deployments;
mod deployments_lost;
mod deployments_set;
mod jobs;
mod life;
mod outages;
mod pressure;
mod stopping;
mod support;
mod tokens;
