//! `work.karmada.io/v1alpha2`: bindings as they are stored.

mod binding;
mod eviction;
mod requirements;
mod status;

pub use binding::*;
pub use eviction::*;
pub use requirements::*;
pub use status::*;
