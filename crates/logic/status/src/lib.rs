//! What became of a binding: the reports of many works folded into one status, and that written onto the template.
//!
//! Stands at the end of the flow, on the way back: members report into the status of their works; [`fold()`] makes of
//! those the items and the condition of the binding; the interpreter makes of the items the template's status; the
//! `patch` functions of [`Folded`] and [`template_patch`] say what is to be written, or that nothing is.
//!
//! Invariants:
//! - One item for each work that is not on its way out, by the name of the cluster, whatever order the works come in.
//! - Nothing is written that says nothing new: the same reports twice give no patch the second time.
//! - What a member said last stays until it says something else; while it is silent its health is unknown, and the item
//!   says why.
//! - Only the fields named here are in a patch: the scheduler's conditions and times stay as they are.
//!
//! Non-goals: interpreting statuses of kinds (`interpret`), reading health from members (`member`), writing.

pub mod item;

mod fold;
mod template;

#[cfg(test)]
mod tests;

pub use crate::{
    fold::{Folded, Inputs, fold},
    item::{Contact, NOT_APPLIED_YET, item},
    template::template_patch,
};
