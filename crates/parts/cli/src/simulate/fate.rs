//! What would become of templates: in words of their own, for people and programs alike.

use object::{Object, Value};

use super::change::Line;

/// What would happen.
#[derive(Debug, Default)]
pub(super) struct Simulated {
    /// The clusters that are supposed to be lost.
    pub(super) lost: Vec<String>,
    /// What is not known of how the control plane decides, or of what members have.
    pub(super) doubts: Vec<String>,
    /// Every template, by kind and name.
    pub(super) templates: Vec<Fate>,
}

/// What would become of a template.
#[derive(Debug, Default)]
pub(super) struct Fate {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) is_new: bool,
    /// Whether the template itself would be another.
    pub(super) is_edited: bool,
    /// Whether somebody asked about this very template.
    pub(super) is_supposed: bool,
    /// The policy that would hold it.
    pub(super) policy: Option<String>,
    /// The policy that holds it now, if it is another.
    pub(super) was_of: Option<String>,
    /// The templates it comes along with.
    pub(super) with: Vec<String>,
    /// Why it would go nowhere, or what stands in the way.
    pub(super) problem: Option<String>,
    /// Whether the problem is one that it has already.
    pub(super) is_old_problem: bool,
    /// What else is worth knowing.
    pub(super) remarks: Vec<String>,
    /// What would become of it in each cluster, by name.
    pub(super) clusters: Vec<ClusterFate>,
}

/// What would become of a template in one cluster.
#[derive(Debug, Default)]
pub(super) struct ClusterFate {
    pub(super) cluster: String,
    /// Replicas now; `None` if it is not there, or has no replicas.
    pub(super) before: Option<i32>,
    /// Replicas then, as overrides leave them.
    pub(super) after: Option<i32>,
    /// What overrides make of the template for it.
    pub(super) overridden: Vec<Line>,
    pub(super) what: What,
    /// What else is worth knowing.
    pub(super) note: Option<String>,
    /// Whether it is so already, whatever is supposed.
    pub(super) is_old: bool,
    /// What only a look into the cluster tells.
    pub(super) look: Option<Look>,
    /// What it would be sent, if anything.
    pub(super) sent: Option<Object>,
}

/// What a cluster is to be asked about.
#[derive(Debug)]
pub(super) enum Look {
    /// What comes of sending it something.
    Sent {
        /// What it would be sent.
        object: Object,
        /// What it was sent before, which may not have come about.
        before: Option<Value>,
    },
    /// Whether what it has is from here, of a work that would go.
    Withdrawn {
        /// What the work is about.
        object: Object,
        /// The execution namespace and the name of the work.
        work: (String, String),
    },
}

impl Look {
    /// The object that is looked for.
    pub(super) fn object(&self) -> &Object {
        match self {
            Self::Sent { object, .. } | Self::Withdrawn { object, .. } => object,
        }
    }
}

/// What happens to the object in a cluster.
#[derive(Debug, Default, PartialEq)]
pub(super) enum What {
    #[default]
    Stays,
    Created,
    Deleted,
    /// It stays, and nobody looks after it any more.
    LetGo,
    /// It is not there: it never came, or what would go is gone.
    Absent,
    /// It is lost with its cluster.
    Lost,
    Changed(Vec<Line>),
    /// It waits in the control plane until its dispatching is no longer suspended; the changes that wait.
    Held(Vec<Line>),
    /// It cannot be made for the cluster.
    Refused(String),
    /// The cluster has one of somebody else's.
    Conflict(String),
}

impl Fate {
    /// Whether anything happens.
    pub(super) fn is_affected(&self) -> bool {
        self.is_new
            || self.is_edited
            || self.was_of.is_some()
            || (self.problem.is_some() && !self.is_old_problem)
            || self.clusters.iter().any(ClusterFate::is_affected)
    }

    /// Whether there is something to say: what happens, or why nothing does to what was asked about.
    pub(super) fn is_told(&self) -> bool {
        self.is_affected() || (self.is_supposed && self.clusters.is_empty())
    }
}

impl ClusterFate {
    /// Whether anything happens there.
    pub(super) fn is_affected(&self) -> bool {
        !self.is_old && (self.what != What::Stays || self.note.is_some())
    }
}
