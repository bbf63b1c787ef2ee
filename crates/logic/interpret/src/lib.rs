//! What an object of any kind means: its replicas, needs, references, health and status, and what a member owns of it.
//!
//! Stands between the raw object and every decision about it. On the way out: `policy` builds a binding from
//! [`Interpreter::replicas`] or [`Interpreter::components`], the dependencies of a template come from
//! [`Interpreter::dependencies`], a work is made with [`Interpreter::revise`], and a member is
//! written with [`Interpreter::retain_all`]. On the way back: [`Interpreter::reflect`] and [`Interpreter::health`] say
//! what a work reports, [`Interpreter::aggregate`] folds the reports of all members into the template.
//!
//! # Who answers
//!
//! Every question goes through [`Interpreter`]. For each operation the first [`Layer`] with a rule for exactly that API
//! version and kind answers, and its error is final: customization, webhook, third party, native. A layer is a value of
//! [`Rules`]; [`Interpreter::configured`] makes them of the objects that users write, and [`Interpreter::trace`] says who
//! answers. Webhooks are asked over the network, which nothing here does: the questions that begin with `ask_` answer
//! with a [`WebhookCall`], which [`Interpreter::settle`] hands to the [`Courier`] it was given; the others with an error.
//!
//! # Scripts
//!
//! [`customization`] knows which script answers what, [`script`] runs them: in a sandbox, within counted limits.
//!
//! # Built-in kinds
//!
//! One file for each kind under `native` and for each family under `third_party`, with a table of functions by operation.
//! What several kinds share has its own place: [`pod`] for all that is in a pod spec, [`generation`] for `observedGeneration`, `native/counters.rs` for
//! statuses that are sums, `native/entry_points.rs` for load balancers, [`retention`] for metadata.
//!
//! # Cases
//!
//! `cases/<kind>/*.yaml` hold what every rule must do, one folder for each kind; adding a case is adding an entry or a
//! file. A file is a list of cases; a case is a claim, inputs, and what is expected of one or more operations:
//!
//! ```yaml
//! - claim: a member's cluster address is kept          # a sentence; required
//!   object: {apiVersion: v1, kind: Service, …}         # what is asked about; the template for aggregate
//!   observed: {…}                                      # the member's object, for retain
//!   members: {m1: {…}, m2: null}                       # reflected statuses for aggregate; null: nothing reported yet
//!   quota: true                                        # the gate ResourceQuotaEstimate; off unless given
//!   expect:
//!     replicas: {replicas: 2, requirements: {…}}       # requirements: null where there are none
//!     revise: {to: 3, changes: {spec: {replicas: 3}}}
//!     retain: {spec: {clusterIP: 10.0.0.7}}            # changes, see below
//!     retain_all: {…}                                  # the same, metadata included
//!     prune: {status: null}                            # changes
//!     prune_keeping_ttl: {…}                           # changes
//!     aggregate: {replicas: 5}                         # the template's whole next status, or `unchanged`
//!     reflect: {replicas: 2}                           # null where nothing is reflected
//!     health: Healthy                                  # or Unhealthy
//!     dependencies: [{…}]
//!     <any>: {error: "spec.replicas: …"}               # the text of the error
//! ```
//!
//! *Changes* are a JSON merge patch: the difference between the input and the result must be exactly that, so whatever
//! a case does not mention is shown to be untouched. Every rule of the tables must have at least one case.
//!
//! # Invariants
//!
//! - Inputs are never written through; results are new values, and fields nobody here knows survive in them.
//! - The same question has the same answer: no clock, no order of maps. Lists that members see are sorted.
//! - A value of the wrong shape is an error that names its path, never a panic and never a guess; `null` means absent.
//! - Retaining and revising touch only the fields their rule names.
//!
//! Non-goals: fetching objects, asking webhooks, deciding what to do with an answer.

pub mod error;
pub mod kind;
pub mod operation;

mod interpreter;
pub mod rules;

pub mod customization;
pub mod script;
pub mod webhook;

mod counting;
pub mod generation;
mod identity;
mod native;
mod node;
pub mod pod;
pub mod retention;
mod table;
mod third_party;

pub use crate::{
    customization::Customizations,
    error::{InterpretError, RuleError},
    interpreter::{Answer, Candidate, Interpreter, Layer, Layers, Problems, Trace},
    kind::KindRef,
    native::{Native, Options},
    operation::Operation,
    rules::{Coverage, Replicas, Rules},
    script::Engine,
    third_party::ThirdParty,
    webhook::{Courier, Hooks, WebhookCall},
};
