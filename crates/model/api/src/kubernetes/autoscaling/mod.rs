//! Metrics, scaling behaviour and status, as autoscaling/v2 defines them.

mod behavior;
mod source;
mod status;

pub use behavior::*;
pub use source::*;
pub use status::*;
