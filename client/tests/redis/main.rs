//! Calls to a real Redis: one server, Sentinels, a Cluster, what happens when they fail, and who is woken.

mod support;

mod calls;
mod durable;
mod library;
mod outages;
mod settings;
mod topologies;
mod wakes;
