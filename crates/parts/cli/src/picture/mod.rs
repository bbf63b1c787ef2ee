//! The control plane as one reading sees it, and what its own rules make of it.
//!
//! The rules are the very functions that controllers and the scheduler decide by; here they are asked about what is,
//! for `explain`, and about what would be, for `simulate`. Nothing is written.

mod gather;
mod judge;
mod settings;
mod shares;
mod spaces;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use api::cluster::Cluster;
use interpret::Interpreter;
use object::{Object, ObjectKey};
use overrides::Overrides;
use policy::Index;

use settings::Settings;

pub(crate) use judge::{HELD_BACK, Placed};
pub(crate) use policy::activation::speaks_of;
pub use settings::Presumption;
pub(crate) use shares::{Share, completions};
pub(crate) use spaces::{is_namespace, namespaces};
pub(crate) use versions::{Forms, Versions, converted, version_of};

/// Everything that decides about templates.
#[derive(Clone)]
pub(crate) struct Picture {
    /// What the control plane runs with.
    pub(crate) settings: Settings,
    /// The numbers behind priority classes, while they count.
    pub(crate) priorities: BTreeMap<String, i32>,
    /// The policies that claim templates.
    pub(crate) policies: Index,
    /// The policies that override.
    pub(crate) overrides: Overrides,
    /// The names of the latter; without a namespace for cluster-wide ones.
    pub(crate) override_keys: BTreeSet<ObjectKey>,
    /// The versions in which kinds are served.
    pub(crate) versions: Versions,
    /// The clusters, by name.
    pub(crate) clusters: BTreeMap<String, Cluster>,
    /// Whether the clusters could be read.
    pub(crate) sees_clusters: bool,
    /// What objects mean.
    pub(crate) interpreter: Interpreter,
    /// What says so: customizations, and who is asked.
    customizations: Vec<Object>,
    webhooks: Vec<Object>,
    /// What could not be read, and is therefore not in it.
    pub(crate) unreadable: Vec<String>,
}
