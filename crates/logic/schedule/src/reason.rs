//! Why a filter refuses a cluster.

use std::{borrow::Cow, fmt, sync::Arc};

use api::{affinity::Mismatch, kubernetes::scheduling::Taint, policy::SpreadField};

/// Why a filter refuses a cluster. Made without text; the text is written when somebody reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It does not serve the template's kind, or nobody knows that it does.
    ApiMissing,
    /// It has a taint that the placement does not tolerate: the first one.
    Taint(Arc<Taint>),
    /// It does not match the affinity.
    Affinity(Mismatch),
    /// It lacks a field that a spread constraint groups by.
    Property(SpreadField),
    /// The template is being moved away from it.
    Evicting,
    /// Workloads of the same affinity group run elsewhere.
    AffinityGroup,
    /// Workloads of the same anti-affinity group run there.
    AntiAffinityGroup,
    /// What a plugin from outside says.
    Other(Arc<str>),
}

impl Reason {
    /// The short text that the condition counts, as upstream words it.
    #[must_use]
    pub fn summary(&self) -> Cow<'static, str> {
        match self {
            Self::ApiMissing => "cluster(s) did not have the API resource".into(),
            Self::Taint(taint) => {
                format!("cluster(s) had untolerated taint {{{}}}", TaintText(taint)).into()
            }
            Self::Affinity(_) => {
                "cluster(s) did not match the placement cluster affinity constraint".into()
            }
            Self::Property(SpreadField::Provider) => {
                "cluster(s) did not have provider property".into()
            }
            Self::Property(SpreadField::Region) => "cluster(s) did not have region property".into(),
            Self::Property(SpreadField::Zone) => "cluster(s) did not have zones property".into(),
            Self::Property(SpreadField::Cluster) => "cluster(s) did not have a name".into(),
            Self::Evicting => "cluster(s) is in the process of eviction".into(),
            Self::AffinityGroup => {
                "ResourceBinding with the same affinity group does not target this cluster".into()
            }
            Self::AntiAffinityGroup => {
                "cluster already has workload with the same anti-affinity group".into()
            }
            Self::Other(text) => text.to_string().into(),
        }
    }
}

/// The whole reason, for the person who asks about one cluster.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiMissing => f.write_str("does not serve the template's kind"),
            Self::Taint(taint) => write!(
                f,
                "has the taint {}, which is not tolerated",
                TaintText(taint)
            ),
            Self::Affinity(mismatch) => write!(f, "does not match the affinity: {mismatch}"),
            Self::Property(SpreadField::Provider) => f.write_str("has no provider to spread by"),
            Self::Property(SpreadField::Region) => f.write_str("has no region to spread by"),
            Self::Property(SpreadField::Zone) => f.write_str("has no zones to spread by"),
            Self::Property(SpreadField::Cluster) => f.write_str("has no name to spread by"),
            Self::Evicting => f.write_str("is being evicted from"),
            Self::AffinityGroup => {
                f.write_str("others of the same affinity group do not run there")
            }
            Self::AntiAffinityGroup => {
                f.write_str("another of the same anti-affinity group runs there")
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

struct TaintText<'a>(&'a Taint);

impl fmt::Display for TaintText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taint {
            key, value, effect, ..
        } = self.0;
        if value.is_empty() {
            write!(f, "{key}:{effect}")
        } else {
            write!(f, "{key}={value}:{effect}")
        }
    }
}
