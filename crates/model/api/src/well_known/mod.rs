//! Texts that controllers, users and other tools agree on.

pub mod annotations;
pub mod conditions;
pub mod events;
pub mod feature_gates;
pub mod finalizers;
pub mod labels;
pub mod taints;
