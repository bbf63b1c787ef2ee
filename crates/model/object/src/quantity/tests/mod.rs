//! The rules of quantities, as tables of what goes in and what must come out.

mod documents;
mod operations;
mod properties;
mod texts;

use crate::quantity::{Format, Quantity};

fn quantity(text: &str) -> Quantity {
    text.parse()
        .unwrap_or_else(|problem| panic!("{text:?}: {problem}"))
}
