//! Commands that write to the control plane.
//!
//! What is written is said in kubectl's words, a line for each object. A dry run at the client sends nothing that writes; one
//! at the server has everything checked and nothing kept.

mod account_token;
mod apply;
mod choice;
mod create;
mod delete;
mod edit;
mod generate;
mod handover;
mod last_applied;
mod marks;
mod mentions;
mod patch;
mod policies;

pub use account_token::{AccountTokenQuery, create_account_token};
pub use apply::{ApplyOptions, Propagation, apply};
pub use create::{CreateOptions, create, create_here, edit_first};
pub use delete::{Asking, DeleteQuery, delete};
pub use edit::{EditQuery, edit};
pub use generate::{check_flags, check_words, generate, read_words_to_create, words_to_create};
pub use last_applied::view_last_applied;
pub use marks::{MarkQuery, Marks, mark, mark_here};
pub use patch::{PatchQuery, patch, patch_here};

pub(crate) use handover::finish_rehearsal;
pub(crate) use mentions::{absent_cluster, named_clusters, policy_mentions};
pub(crate) use policies::{Strictness, policy_for};

use client::{Client, Discovery, WriteOptions};
use intent::Part;
use object::{Object, ResourceType};

use crate::failure::Failure;
use crate::manifests::Home;
use crate::reach::call_failure;
use crate::reading::{self, Output};

/// Who writes, in the fields' records.
pub(crate) const MANAGER: &str = "karavel";

/// How far a write goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is done.
    #[default]
    No,
    /// Nothing is sent that writes.
    Client,
    /// The server checks everything and keeps nothing.
    Server,
}

impl DryRun {
    /// What is put behind a line, so that nobody believes it was done.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// What is shared by all writes.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    /// The namespace; what the kubeconfig names if absent.
    pub namespace: Option<String>,
    /// How far it goes.
    pub dry_run: DryRun,
    /// The object afterwards instead of a line.
    pub output: Option<Output>,
    /// Who owns the fields that are written; the program itself if absent.
    pub manager: Option<String>,
    /// Whether objects that are printed tell who wrote which field.
    pub managed_fields: bool,
}

impl Writing {
    fn options(&self) -> WriteOptions {
        let manager = self.manager.clone();
        WriteOptions {
            dry_run: self.dry_run == DryRun::Server,
            ..WriteOptions::by(manager.unwrap_or_else(|| MANAGER.to_owned()))
        }
    }

    /// For what a person wrote whole: a field that nobody knows is a slip of the pen, and would be lost.
    fn strict_options(&self) -> WriteOptions {
        WriteOptions {
            field_validation: "Strict",
            ..self.options()
        }
    }

    fn namespace(&self, control: &Client) -> String {
        self.home(control).namespace
    }

    fn home(&self, control: &Client) -> Home {
        Home::new(self.namespace.as_deref(), control)
    }

    /// What is printed of an object that was written.
    fn say(&self, resource: &ResourceType, object: &Object, word: &str) -> Result<String, Failure> {
        match &self.output {
            None | Some(Output::Table) => Ok(format!(
                "{} {word}{}\n",
                name_of(resource, object.name()),
                self.dry_run.suffix()
            )),
            Some(Output::Name) => Ok(format!("{}\n", name_of(resource, object.name()))),
            Some(output) => {
                let marked = reading::mark(object.clone(), None, self.managed_fields);
                reading::show_objects(vec![marked], output)
            }
        }
    }

    /// How objects are printed if they are, instead of lines about them.
    fn document(&self) -> Option<&Output> {
        let is_line = |output: &&Output| matches!(output, Output::Table | Output::Name);
        self.output.as_ref().filter(|output| !is_line(output))
    }

    /// What stands before an object that is printed after so many others.
    #[must_use]
    pub fn separator(&self, printed: usize) -> &'static str {
        match (&self.output, printed) {
            (Some(Output::Yaml), 1..) => "---\n",
            _ => "",
        }
    }
}

/// The part of an object that a subresource is; the object itself if none is named.
pub(crate) fn part(subresource: Option<&str>) -> Part {
    match subresource {
        None | Some("") => Part::Object,
        Some(name) => Part::Named(name.to_owned().into()),
    }
}

/// `deployment.apps/web`. Upstream: what has no name yet is said to be unknown.
pub(crate) fn name_of(resource: &ResourceType, name: &str) -> String {
    let name = if name.is_empty() { "<unknown>" } else { name };
    format!("{}/{name}", kind_of(resource))
}

/// `deployment.apps`.
pub(crate) fn kind_of(resource: &ResourceType) -> String {
    let kind = resource.kind.kind.to_lowercase();
    match resource.kind.group.as_str() {
        "" => kind,
        group => format!("{kind}.{group}"),
    }
}

/// The kind of an object of a file, as far as the file tells it: enough to name it.
fn kind_here(object: &Object) -> ResourceType {
    let kind = object.group_version_kind();
    ResourceType::cluster(&kind.group, &kind.version, &kind.kind, "")
}

async fn discover(control: &Client) -> Result<Discovery, Failure> {
    let discovery = control.discover().await;
    discovery.map_err(|error| call_failure(&error))
}
