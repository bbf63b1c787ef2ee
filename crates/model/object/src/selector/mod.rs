//! Which objects are meant: selection by label and by field.
//!
//! [`Selector`] is the compiled label selector. It comes from the text of a query string (`app=web,tier in (a,b)`)
//! by [`str::parse`], or from the typed [`LabelSelector`] of an API object by [`LabelSelector::compile`].
//! [`FieldSelector`] is its smaller sister for fields (`metadata.name=x`).
//!
//! An empty selector matches everything. A selector that is *absent* (`None` where an API field is optional) is not a
//! selector at all: some fields mean "nothing" by it and some mean "anything", so its reader decides, not this module.
//!
//! Invariants: every key and value in a [`Selector`] is valid; what prints parses back to an equal selector; matching
//! allocates nothing.

mod fields;
mod label;
mod parse;
#[cfg(test)]
mod tests;
mod typed;

pub use self::{
    fields::{
        FieldOperator, FieldRequirement, FieldSelector, ParseFieldSelectorError, UnknownField,
    },
    label::{Operator, Requirement, Selector},
    parse::ParseSelectorError,
    typed::{LabelSelector, LabelSelectorRequirement},
};
