//! Resource selectors, as all policies have them.

pub use api::selection::{Selector, Specificity, Which};
