//! How many nodes and pods a member has, what they offer and what they request.
//!
//! The counts follow the member's watch streams: every change of a node or pod is taken off and added again, so that a
//! summary costs nothing like a pass over all of them. Of a pod a few numbers are kept, of a node its name and what it
//! offers; the objects themselves are dropped as they are read.
//!
//! Keeps: the totals are those of a fresh count over the nodes and pods held, in whatever order they came and went.

mod amounts;
mod feed;
mod models;
mod node;
mod pod;
mod tally;

#[cfg(test)]
mod tests;

pub(crate) use crate::census::feed::Feed;
pub use crate::census::tally::Census;
