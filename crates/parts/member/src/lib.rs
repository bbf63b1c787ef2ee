//! Everything that faces one member cluster.

#![allow(dead_code, reason = "shells follow")]

pub mod apply;
pub mod census;
pub mod health;
pub mod lifecycle;
pub mod monitor;
pub mod reflect;
pub mod report;
pub mod resources;
#[cfg(test)]
mod testing;
