//! Kinds of `config.karmada.io/v1alpha1`: how the control plane learns about kinds it does not know.

mod context;
mod customization;
mod webhook;

pub use context::*;
pub use customization::*;
pub use webhook::*;
