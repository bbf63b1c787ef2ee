//! `work.karmada.io/v1alpha1`: works, and the older view of bindings.

mod binding;
mod work;

pub use binding::*;
pub use work::*;
