//! Kinds of `policy.karmada.io/v1alpha1`: what goes where, how it is changed on the way, and what may be used up.

mod affinity;
mod failover;
mod override_policy;
mod overriders;
mod placement;
mod propagation;
mod quota;
mod replica_scheduling;
mod resource_selector;
mod taint_policy;

pub use affinity::*;
pub use failover::*;
pub use override_policy::*;
pub use overriders::*;
pub use placement::*;
pub use propagation::*;
pub use quota::*;
pub use replica_scheduling::*;
pub use resource_selector::*;
pub use taint_policy::*;
