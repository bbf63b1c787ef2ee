//! Which kinds there are, what they are called and what can be done with them, read from the text files under
//! `kinds/`.
//!
//! A file has groups; a group has kinds; a kind line is followed by what differs from the usual and by its columns:
//!
//! ```text
//! group apps/v1
//! package io.k8s.api.apps.v1
//!
//! Deployment deployments deploy
//!   in all
//!   generation spec +annotations
//!   sub status
//!   sub scale get patch update : autoscaling/v1 Scale
//!   | Name
//!   | Ready | string | @ | Pods that are ready, of those wanted.
//!   | Age
//! ```
//!
//! | line | meaning; what holds without it |
//! |---|---|
//! | `Kind plural short…` | the kind, its resource and the short names |
//! | `cluster` | objects have no namespace; namespaced |
//! | `in all` | categories; none |
//! | `verbs create get` | what can be done; all eight verbs |
//! | `names label` | the rule for names; `subdomain` |
//! | `generation f g` | `metadata.generation` counts changes of these fields; `+labels`, `+annotations` count too, `+later` starts at zero instead of one, `once` never counts |
//! | `delete orphan` | what becomes of dependents when the request does not say; `background` |
//! | `graceful` | deletion waits for the grace period |
//! | `stored g/v Kind` | objects are kept as this kind; as themselves |
//! | `select label=path:type` | further field selectors and where their values are; `metadata.name` and `metadata.namespace` |
//! | `sub name verb… : g/v Kind` | a subresource; get, patch and update of the kind itself |
//! | `\| header \| type \| source \| text` | a printer column (see [`crate::columns`]); `Name` and `Age` may stand alone |

mod parse;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use object::{GroupVersionKind, Value};

use crate::columns::Column;

pub use self::parse::{ParseError, parse};

/// One built-in kind in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The package its types are published under, such as `io.k8s.api.apps.v1`.
    pub package: &'a str,
    /// The plural name, as in request paths.
    pub plural: &'a str,
    /// Abbreviations.
    pub short_names: Vec<&'a str>,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<&'a str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// What can be done, sorted.
    pub verbs: Vec<&'a str>,
    /// The rule for its names.
    pub names: NameRule,
    /// What counts as a new generation; `None` where there is no generation.
    pub generation: Option<Generation<'a>>,
    /// What becomes of dependents when a delete request does not say.
    pub dependents: Dependents,
    /// Whether deletion waits for the grace period.
    pub graceful: bool,
    /// The kind objects are stored as, where that is another one.
    pub stored: Option<KindRef<'a>>,
    /// Field selectors beyond `metadata.name` and `metadata.namespace`.
    pub selectors: Vec<Selector<'a>>,
    /// Subresources, sorted by name.
    pub subresources: Vec<Subresource<'a>>,
    /// What `kubectl get` shows.
    pub columns: Vec<Column<'a>>,
}

/// A kind by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRef<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

/// What names may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain of up to 253 characters.
    Subdomain,
    /// A DNS label of up to 63 characters.
    Label,
    /// A DNS label that starts with a letter.
    Dns1035,
    /// Anything that can stand in a path.
    PathSegment,
    /// An IP address in its usual form.
    IpAddress,
    /// Anything at all.
    Any,
}

/// What `metadata.generation` counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generation<'a> {
    /// Top-level fields whose changes count; none when the generation stays at one.
    pub fields: Vec<&'a str>,
    /// Whether changed labels count.
    pub labels: bool,
    /// Whether changed annotations count.
    pub annotations: bool,
    /// Whether a new object has none yet.
    pub later: bool,
}

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They are collected after it is gone.
    Background,
    /// They stay.
    Orphan,
    /// The kind has no say in it: there are none.
    Unsupported,
}

/// A field usable in field selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector<'a> {
    /// Its name in the selector.
    pub label: &'a str,
    /// Where the value is; several places, with bars between them, if the first that has one counts.
    pub path: &'a str,
    /// What an absent value reads as.
    pub absent: &'static str,
}

/// A part of an object with an address of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource<'a> {
    /// Its name.
    pub name: &'a str,
    /// What can be done, sorted.
    pub verbs: Vec<&'a str>,
    /// The kind of its bodies, where that is not the kind itself.
    pub kind: Option<KindRef<'a>>,
}

/// The verbs of a kind that is stored.
pub const ALL_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

const FILES: [&str; 13] = [
    include_str!("../../kinds/core.kinds"),
    include_str!("../../kinds/apps.kinds"),
    include_str!("../../kinds/batch.kinds"),
    include_str!("../../kinds/autoscaling.kinds"),
    include_str!("../../kinds/networking.kinds"),
    include_str!("../../kinds/policy.kinds"),
    include_str!("../../kinds/rbac.kinds"),
    include_str!("../../kinds/storage.kinds"),
    include_str!("../../kinds/cluster.kinds"),
    include_str!("../../kinds/admission.kinds"),
    include_str!("../../kinds/reviews.kinds"),
    include_str!("../../kinds/flowcontrol.kinds"),
    include_str!("../../kinds/resource.kinds"),
];

/// All built-in kinds, sorted by group, version and kind.
#[must_use]
pub fn kinds() -> &'static [Kind<'static>] {
    static KINDS: LazyLock<Vec<Kind<'static>>> = LazyLock::new(|| {
        let mut kinds: Vec<Kind<'static>> = FILES
            .iter()
            .flat_map(|text| parse(text).expect("invariant: the embedded kinds are well-formed"))
            .collect();
        kinds.sort_by_key(Kind::sort_key);
        kinds
    });
    &KINDS
}

/// The built-in kind with this name.
#[must_use]
pub fn kind(gvk: &GroupVersionKind) -> Option<&'static Kind<'static>> {
    find(&gvk.group, &gvk.version, &gvk.kind)
}

/// The built-in kind with this name, in parts.
#[must_use]
pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Kind<'static>> {
    let all = kinds();
    let place = all
        .binary_search_by(|known| known.sort_key().cmp(&(group, version, kind)))
        .ok()?;
    all.get(place)
}

impl<'a> Kind<'a> {
    fn sort_key(&self) -> (&'a str, &'a str, &'a str) {
        (self.group, self.version, self.kind)
    }

    /// The name of one: the kind in lower case.
    #[must_use]
    pub fn singular(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// The kind of lists.
    #[must_use]
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// `group/version`, or the version alone in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The published name of its type.
    #[must_use]
    pub fn type_name(&self) -> String {
        format!("{}.{}", self.package, self.kind)
    }

    /// Whether objects are only ever asked about and never kept, as reviews are.
    #[must_use]
    pub fn is_create_only(&self) -> bool {
        self.verbs == ["create"]
    }

    /// Whether there is a subresource of this name.
    #[must_use]
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources
            .iter()
            .any(|subresource| subresource.name == name)
    }

    /// What a field selector compares with, or `None` where the kind has no such field.
    #[must_use]
    pub fn selectable(&self, label: &str, object: &Value) -> Option<String> {
        let (path, absent) = match label {
            "metadata.name" => ("metadata.name", ""),
            "metadata.namespace" if self.namespaced => ("metadata.namespace", ""),
            _ => {
                let selector = self
                    .selectors
                    .iter()
                    .find(|selector| selector.label == label)?;
                (selector.path, selector.absent)
            }
        };
        let read = |path: &str| match crate::path::at(object, path) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) if !other.is_null() => Some(other.to_string()),
            _ => None,
        };
        let mut values = path.split('|').filter_map(read);
        let value = values.find(|value| !value.is_empty());
        Some(value.unwrap_or_else(|| absent.to_owned()))
    }
}
