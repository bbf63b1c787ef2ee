//! Notices when nobody reports on a cluster any more.

mod plan;
#[cfg(test)]
mod tests;

pub use crate::monitor::plan::Grace;
