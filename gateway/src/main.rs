//! HTTP for Lockless.

fn main() {}
