//! Templates as override policies look at them, and how closely a policy describes one.

pub use api::selection::{Selector, Specificity, Template};
