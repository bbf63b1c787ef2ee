//! Decides where bindings go.

pub mod queue;
