//! How the parts of the product are put together into one control plane.
//!
//! The binary starts it with [`plane::start`], on a port and a directory; tests of the whole product start the same with
//! [`plane::start_inside`], on a store, a clock and a network of their own.
//!
//! Invariants: both ways meet as early as can be, so that what is tested is what runs.
//!
//! Non-goals: arguments and what is printed (the binary beside this); any behaviour of a part.

mod configz;
mod decisions;
mod estimating;
pub mod plane;
pub mod trouble;
