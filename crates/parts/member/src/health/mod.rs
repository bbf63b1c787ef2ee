//! Whether a member answers, and whether that is to be believed.

mod damping;
mod probe;

#[cfg(test)]
mod tests;

pub(crate) use crate::health::damping::Damping;
pub use crate::health::damping::Thresholds;
pub(crate) use crate::health::probe::{Answer, condition, unconnected};
