//! Which policy claims a template, why the others do not, and what the claim looks like.
//!
//! Stands at the start of the flow: a template was written, or a policy. The controller gathers [`Inputs`] and calls
//! [`decide()`]; the [`Decision`] says whose the template is, what is noted on it and on its binding
//! ([`Decision::template_edit`], [`Decision::binding_edit`]), and keeps in its [`Claim`] the policies that selected the
//! template too, each with the reason why it lost. A change of policy goes the other way: [`Reach`] says which
//! templates it is about.
//!
//! Invariants:
//! - The decision depends on what is there, never on what happened: after a restart it is the same.
//! - A claim stays where it is until its policy goes, stops selecting the template, or is preempted.
//! - [`Index`] answers exactly as trying every policy would, and a template meets only policies that may select it.
//! - If a change of policy changes what is decided about a template, its [`Reach`] covers the template.
//!
//! Non-goals: what a binding says beside the claim, watching, writing, choosing clusters.

pub mod policy;
pub mod selector;
pub mod template;

pub mod exemption;
pub mod index;

pub mod claim;
pub mod holder;

pub mod activation;
pub mod decide;

pub mod reach;

#[cfg(test)]
mod tests;

pub use crate::{
    claim::{Claim, NoTakeover, Preemption, Verdict},
    decide::{Decision, Inputs, Outcome, Release, ReleaseCause, ReleaseOrder, decide},
    exemption::{Exemption, Exemptions},
    holder::{Holder, MetadataEdit},
    index::{Index, Match},
    policy::{Policy, PolicyId},
    reach::{Reach, keys_for},
    selector::{Selector, Specificity},
    template::{Template, TemplateKey},
};
