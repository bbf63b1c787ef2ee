//! The operator's commands that work on files and on a running server from outside.
//!
//! A command is a function that takes what was asked for and returns what came of it; [`Failure`] says whether it was
//! refused or failed, which becomes the exit code. The binary parses arguments and prints.
//!
//! Entry points: [`crds`], [`backup`], [`restore`]; [`Reach`] finds the control plane that [`clusters`], [`cordon`],
//! [`taint`], [`get`] and [`explain`] are about.
//!
//! Invariants: a file given as output is complete or absent; nothing is overwritten.
//!
//! Non-goals: running servers (the binary does).

mod acting;
mod age;
mod apis;
mod backup;
mod bystander;
mod choices;
mod chosen;
mod clusters;
mod definitions;
mod describe;
mod events;
mod explain;
mod failure;
mod files;
pub mod interpret;
mod kubeconfigs;
mod lines;
mod manifests;
mod masking;
mod nearest;
mod page;
mod picture;
mod plugin;
mod pods;
mod promote;
mod proposals;
mod raw;
mod reach;
mod reading;
mod schema;
mod simulate;
mod table;
mod tokens;
mod usage;
mod writing;
mod yaml;

pub use acting::Actor;
pub use apis::{ApiOrder, ApisQuery, api_resources, api_versions};
pub use backup::{Saved, backup, restore};
pub use choices::{check_plugins, read_gates};
pub use clusters::{ClustersQuery, Cordon, TaintChange, clusters, cordon, taint, unknown};
pub use definitions::{Format, crds};
pub use describe::{DescribeQuery, describe, describe_all};
pub use events::{EventsQuery, events, watch_events};
pub use explain::{Question, Telling, explain};
pub use failure::Failure;
pub use files::{Unread, bytes_of, read_bytes, read_text, text_of};
pub use kubeconfigs::merge_kubeconfigs;
pub use manifests::{Manifest, read_values};
pub use nearest::{distance, nearest};
pub use picture::Presumption;
pub use pods::{LogQuery, PodQuery, PortPair, Streams, Told, attach, exec, forward, logs};
pub use promote::{PromoteQuery, promote};
pub use proposals::{Proposal, contexts, proposals};
pub use raw::{RawVerb, raw};
pub use reach::{Reach, call_failure};
pub use reading::{Answer, GoTemplate, Output, Query, Scope, Sink, get, watch};
pub use schema::{SchemaQuery, explain_kind};
pub use simulate::{Supposition, Tell, simulate};
pub use table::Table;
pub use tokens::{NewToken, authority_pin, create_token, delete_token, tokens};
pub use usage::{SortBy, UsageQuery, top_nodes, top_pods};
pub use writing::{
    AccountTokenQuery, ApplyOptions, Asking, CreateOptions, DeleteQuery, DryRun, EditQuery,
    MarkQuery, Marks, PatchQuery, Propagation, Writing, apply, check_flags, check_words, create,
    create_account_token, create_here, delete, edit, edit_first, generate, mark, mark_here, patch,
    patch_here, read_words_to_create, view_last_applied, words_to_create,
};
