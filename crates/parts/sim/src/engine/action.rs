//! What a plan wants done, as values.

use object::time::Time;
use object::{Object, Value};

use crate::engine::kind::Kind;

/// What a controller of the simulated cluster wants done, and when it wants to look again without being told.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) wake: Option<Time>,
    /// What the next plan of the same key wants to know of this one and no object says. It is lost with the process.
    pub(crate) note: Option<Value>,
}

/// One thing to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Makes an object.
    Create {
        kind: Kind,
        object: Value,
        by: Writer,
        /// What is told when it is there; its name is put at the end.
        tells: Option<Box<Report>>,
    },
    /// Puts a status in the place of the one that was looked at.
    Status {
        of: Target,
        status: Value,
        by: Writer,
    },
    /// Changes the fields of a merge patch and no others.
    Merge {
        of: Target,
        patch: Value,
        by: Writer,
    },
    /// Puts a document in its place, whatever the path means by that.
    Put {
        path: String,
        object: Value,
        by: Writer,
    },
    /// Places a pod on a node.
    Bind { of: Target, node: String },
    /// Takes an object away.
    Delete {
        of: Target,
        /// Seconds to end in; `None` leaves it to the object.
        grace: Option<i64>,
        /// `Background`, `Foreground` or `Orphan`; the kind's default if absent.
        propagation: Option<&'static str>,
        by: Writer,
    },
    /// Tells whoever looks at an object what happened to it.
    Report(Report),
}

/// An object as it was looked at. Writes fail if it is another one by then, or, with a revision, another state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) uid: String,
    pub(crate) revision: Option<String>,
}

/// An event of the simulated cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) about: Value,
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) by: Writer,
}

/// In whose name something is written, as Kubernetes names its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Controllers,
    Scheduler,
    Kubelet,
}

impl Writer {
    /// The field manager and user agent.
    pub(crate) fn agent(self) -> &'static str {
        match self {
            Self::Controllers => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
        }
    }
}

impl Target {
    /// An object in the state that was looked at.
    pub(crate) fn of(kind: Kind, object: &Object) -> Self {
        Self {
            revision: Some(object.resource_version().to_owned()),
            ..Self::any(kind, object)
        }
    }

    /// An object in whatever state it is by then.
    pub(crate) fn any(kind: Kind, object: &Object) -> Self {
        let name = object.name();
        Self {
            path: format!("{}/{name}", kind.collection_path(object.namespace())),
            uid: object.uid().to_owned(),
            revision: None,
        }
    }
}

impl Plan {
    /// Looks again at a time, or earlier if somebody else wants to.
    pub(crate) fn wake_at(&mut self, time: Time) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    pub(crate) fn create(&mut self, kind: Kind, object: Value) {
        let by = Writer::Controllers;
        self.actions.push(Action::Create {
            kind,
            object,
            by,
            tells: None,
        });
    }

    /// Makes a pod and tells of it on its owner.
    pub(crate) fn create_pod(&mut self, owner: &Object, pod: Value) {
        let by = Writer::Controllers;
        self.actions.push(Action::Create {
            kind: Kind::Pod,
            object: pod,
            by,
            tells: Some(Box::new(Report {
                about: reference(owner),
                warning: false,
                reason: "SuccessfulCreate",
                message: "Created pod: ".to_owned(),
                by,
            })),
        });
    }

    /// Writes a status if it differs from the one there.
    pub(crate) fn status(&mut self, kind: Kind, object: &Object, status: Value, by: Writer) {
        if object.at(&["status"]) == Some(&status) {
            return;
        }
        let of = Target::of(kind, object);
        self.actions.push(Action::Status { of, status, by });
    }

    pub(crate) fn merge(&mut self, kind: Kind, object: &Object, patch: Value) {
        let (of, by) = (Target::of(kind, object), Writer::Controllers);
        self.actions.push(Action::Merge { of, patch, by });
    }

    /// Sets the replicas by the part of an object that is for that, as autoscalers do.
    pub(crate) fn scale(&mut self, kind: Kind, object: &Object, replicas: i64) {
        let mut of = Target::of(kind, object);
        of.path.push_str("/scale");
        let patch = serde_json::json!({"spec": {"replicas": replicas}});
        let by = Writer::Controllers;
        self.actions.push(Action::Merge { of, patch, by });
    }

    pub(crate) fn delete(&mut self, kind: Kind, object: &Object) {
        self.actions.push(Action::Delete {
            of: Target::any(kind, object),
            grace: None,
            propagation: Some("Background"),
            by: Writer::Controllers,
        });
    }

    pub(crate) fn report(
        &mut self,
        about: &Object,
        by: Writer,
        reason: &'static str,
        message: String,
    ) {
        self.tell(about, false, by, reason, message);
    }

    pub(crate) fn warn(
        &mut self,
        about: &Object,
        by: Writer,
        reason: &'static str,
        message: String,
    ) {
        self.tell(about, true, by, reason, message);
    }

    fn tell(
        &mut self,
        about: &Object,
        warning: bool,
        by: Writer,
        reason: &'static str,
        message: String,
    ) {
        self.actions.push(Action::Report(Report {
            about: reference(about),
            warning,
            reason,
            message,
            by,
        }));
    }
}

/// An object as an event names it.
fn reference(object: &Object) -> Value {
    serde_json::json!({
        "apiVersion": object.api_version(), "kind": object.kind(), "namespace": object.namespace(),
        "name": object.name(), "uid": object.uid(), "resourceVersion": object.resource_version(),
    })
}
