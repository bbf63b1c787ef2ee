//! Which objects are never templates: what belongs to the control plane, and what its operator has left out.

use std::{collections::BTreeSet, fmt};

use api::{names::is_reserved_namespace, well_known::labels::CLAIMED_BY};
use object::{GroupKind, GroupVersion, GroupVersionKind, Object};
use schema::pattern::{Pattern, PatternError};

/// Groups of the control plane itself, and of events.
const OWN_GROUPS: [&str; 9] = [
    "cluster.karmada.io",
    "policy.karmada.io",
    "work.karmada.io",
    "config.karmada.io",
    "networking.karmada.io",
    "autoscaling.karmada.io",
    "remedy.karmada.io",
    "apps.karmada.io",
    "events.k8s.io",
];

/// Namespaces that are left out unless configured otherwise.
pub const DEFAULT_SKIPPED_NAMESPACES: &str = "kube-.*";

/// What the operator leaves out, beside what is always left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exemptions {
    groups: BTreeSet<String>,
    versions: BTreeSet<GroupVersion>,
    kinds: BTreeSet<GroupVersionKind>,
    namespaces: Vec<Pattern>,
}

/// Why an object is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exemption {
    /// Its kind is the control plane's own, or left out by the operator.
    Kind(GroupKind),
    /// Its namespace is the control plane's own.
    ReservedNamespace,
    /// Its namespace is left out by this expression.
    SkippedNamespace(String),
    /// The API server makes it for itself.
    ServerOwned,
    /// Something other than a policy has claimed it: the kind of the claimant.
    ClaimedBy(String),
}

/// Why a configuration of exemptions cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExemptionError {
    /// Not a group, a version, or kinds of a version.
    #[error(
        "cannot read skipped API {entry:?}: write <group>, <group>/<version> or <group>/<version>/<Kind>[,<Kind>]"
    )]
    Api {
        /// What was written.
        entry: String,
    },
    /// Not a regular expression.
    #[error("cannot read skipped namespace {entry:?}")]
    Namespace {
        /// What was written.
        entry: String,
        /// What is wrong with it.
        source: PatternError,
    },
}

impl fmt::Display for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "{kind} is not propagated"),
            Self::ReservedNamespace => f.write_str("the namespace belongs to the control plane"),
            Self::SkippedNamespace(pattern) => {
                write!(f, "the namespace is left out by {pattern:?}")
            }
            Self::ServerOwned => f.write_str("the API server makes this object for itself"),
            Self::ClaimedBy(claimant) => write!(f, "claimed by a {claimant}"),
        }
    }
}

impl Exemptions {
    /// Reads what the operator has configured: APIs, separated by semicolons, and regular expressions for whole names
    /// of namespaces.
    pub fn parse<'t>(
        skipped_apis: &str,
        skipped_namespaces: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, ExemptionError> {
        let mut exemptions = Self::default();
        for entry in skipped_apis
            .split(';')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            exemptions.add_api(entry)?;
        }
        for entry in skipped_namespaces
            .into_iter()
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            // Upstream: without the brackets, and so `a|b` is anchored at one end of each.
            let pattern = Pattern::new(&format!("^(?:{entry})$")).map_err(|source| {
                ExemptionError::Namespace {
                    entry: entry.to_owned(),
                    source,
                }
            })?;
            exemptions.namespaces.push(pattern);
        }
        Ok(exemptions)
    }

    /// Why the object is not a template, if it is not.
    #[must_use]
    pub fn check(&self, object: &Object) -> Option<Exemption> {
        let kind = object.group_version_kind();
        if self.skips_kind(&kind) {
            return Some(Exemption::Kind(kind.group_kind()));
        }
        if let Some(exemption) = self.check_namespace(object.namespace()) {
            return Some(exemption);
        }
        if is_server_owned(object) {
            return Some(Exemption::ServerOwned);
        }
        object
            .label(CLAIMED_BY)
            .filter(|claimant| !claimant.is_empty())
            .map(|claimant| Exemption::ClaimedBy(claimant.to_owned()))
    }

    /// Whether no object of the kind is a template, so that it need not be watched.
    #[must_use]
    pub fn skips_kind(&self, kind: &GroupVersionKind) -> bool {
        OWN_GROUPS.contains(&kind.group.as_str())
            || (kind.group.is_empty() && kind.kind == "Event")
            || (kind.group == "coordination.k8s.io" && kind.version == "v1")
            || self.groups.contains(&kind.group)
            || self.versions.contains(&kind.group_version())
            || self.kinds.contains(kind)
    }

    /// Why nothing in the namespace is a template, if nothing is.
    #[must_use]
    pub fn check_namespace(&self, namespace: &str) -> Option<Exemption> {
        // Upstream: objects without a namespace are held against the expressions as if they were in the namespace
        // "", so that `.*` silences all of them.
        if namespace.is_empty() {
            return None;
        }
        if is_reserved_namespace(namespace) {
            return Some(Exemption::ReservedNamespace);
        }
        let pattern = self
            .namespaces
            .iter()
            .find(|pattern| pattern.is_match(namespace))?;
        Some(Exemption::SkippedNamespace(as_written(pattern).to_owned()))
    }

    /// What the operator has configured, as it can be read again: APIs, and expressions for namespaces.
    #[must_use]
    pub fn written(&self) -> (Vec<String>, Vec<String>) {
        let mut apis: Vec<String> = self.groups.iter().cloned().collect();
        apis.extend(self.versions.iter().map(ToString::to_string));
        let kinds = self.kinds.iter();
        apis.extend(kinds.map(|kind| format!("{}/{}", kind.api_version(), kind.kind)));
        let namespaces = self.namespaces.iter().map(as_written);
        (apis, namespaces.map(str::to_owned).collect())
    }

    fn add_api(&mut self, entry: &str) -> Result<(), ExemptionError> {
        let parts: Vec<&str> = entry.split('/').collect();
        match parts.as_slice() {
            [group] => {
                self.groups.insert((*group).to_owned());
            }
            // The core group has no name, so `v1/Pod` is two parts and not a version of the group `v1`.
            ["v1", kinds] => self.add_kinds(&GroupVersion::new("", "v1"), kinds),
            [group, version] => {
                self.versions.insert(GroupVersion::new(*group, *version));
            }
            [group, version, kinds] => self.add_kinds(&GroupVersion::new(*group, *version), kinds),
            _ => {
                return Err(ExemptionError::Api {
                    entry: entry.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn add_kinds(&mut self, version: &GroupVersion, kinds: &str) {
        let kinds = kinds.split(',').filter(|kind| !kind.is_empty());
        self.kinds.extend(kinds.map(|kind| version.with_kind(kind)));
    }
}

/// Whether every API server makes the object of this name for itself. A member has its own, and what the control plane
/// says of itself is wrong there: it is no template, and does not go along with one that refers to it.
#[must_use]
pub fn is_server_owned(object: &Object) -> bool {
    let kind = object.group_version_kind();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap") => {
            object.name() == "kube-root-ca.crt"
                || (object.namespace() == "kube-system"
                    && object.name() == "extension-apiserver-authentication")
        }
        ("", "Service" | "Endpoints") | ("discovery.k8s.io", "EndpointSlice") => {
            object.namespace() == "default" && object.name() == "kubernetes"
        }
        ("networking.k8s.io", "ServiceCIDR") => object.name() == "kubernetes",
        _ => false,
    }
}

/// The expression without the anchors around it.
fn as_written(pattern: &Pattern) -> &str {
    let text = pattern.as_str();
    text.strip_prefix("^(?:")
        .and_then(|rest| rest.strip_suffix(")$"))
        .unwrap_or(text)
}
