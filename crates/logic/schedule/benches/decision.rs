//! Decision benches.

fn main() {}
