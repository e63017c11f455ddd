//! Chooses adapters, wires them, shuts down in order.

fn main() {}
