//! Everything that faces one member cluster.

pub mod census;
