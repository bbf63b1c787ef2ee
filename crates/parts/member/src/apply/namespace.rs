//! What becomes of a namespace in a member when its work goes.
//!
//! What is in a namespace goes with it, and most of that was never brought by this work: copies that are to be preserved,
//! and what other people put there. So a namespace goes for one reason alone: it was deleted in the control plane. That the
//! cluster leaves, that a policy places it elsewhere, or that somebody deleted the work, is none.
//!
//! Upstream: it goes with its work, whatever the work went for.

use api::well_known::{annotations::TEMPLATE_UID, labels::SKIP_AUTO_PROPAGATION};
use client::CallError;
use intent::{Action, EventKind, ObjectRef};
use object::{Object, ObjectKey};

use crate::apply::release::Afterwards;
use crate::resources;

/// The reason of the event that says that a namespace stays in a member.
const NAMESPACE_STAYS: &str = "NamespaceStays";

/// What the control plane says of the namespace that a work brought.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// It is there.
    Lives(Box<Object>),
    /// It is not there, or not for long.
    Ends,
    /// Nobody says, for this reason.
    Unknown(String),
}

impl Origin {
    /// From the answer to the question for an object of this name. `Err`: there was none.
    ///
    /// Invariant: only who names the object says that it is not there.
    pub(crate) fn from(answer: Result<Object, CallError>, name: &str) -> Result<Self, CallError> {
        match answer {
            Ok(found) if found.is_terminating() => Ok(Self::Ends),
            Ok(found) => Ok(Self::Lives(Box::new(found))),
            Err(error) if error.is_absence_of(name) => Ok(Self::Ends),
            Err(error) if error.is_forbidden() || error.is_not_found() => {
                Ok(Self::Unknown(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }
}

/// It is not known whether a namespace was deleted: what becomes of it is decided once it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody says whether it was deleted in the control plane: {0}")]
pub(crate) struct Doubt(String);

/// Everything the decision may look at.
pub(crate) struct Departure<'a> {
    /// The work that goes.
    pub(crate) work: &'a Object,
    /// The namespace, as the work has it.
    pub(crate) manifest: &'a Object,
    pub(crate) cluster: &'a str,
    /// What the work says of what it brought.
    pub(crate) said: Afterwards,
    pub(crate) origin: &'a Origin,
    /// Whether the cluster is going, too.
    pub(crate) is_leaving: bool,
    /// Whether namespaces of this name are sent only where a policy says so.
    pub(crate) is_skipped: bool,
}

/// Whether an object is a namespace.
pub(crate) fn is_namespace(object: &Object) -> bool {
    object.kind() == "Namespace" && object.api_version() == "v1"
}

/// Whether a member's namespace was once brought there for the very namespace that the manifest is made from, and was let
/// go: it is taken up again where somebody else's would be left alone.
pub(crate) fn is_returning(manifest: &Object, observed: &Object) -> bool {
    let uid = |object: &Object| object.annotation(TEMPLATE_UID).map(str::to_owned);
    let known = uid(manifest).filter(|uid| !uid.is_empty());
    is_namespace(manifest) && known.is_some() && uid(observed) == known
}

/// What becomes of a namespace, and the event that says so where it stays against what its work says.
pub(crate) fn depart(departure: &Departure<'_>) -> Result<(Afterwards, Option<Action>), Doubt> {
    let Departure {
        origin, is_leaving, ..
    } = departure;
    if departure.said != Afterwards::Delete {
        return Ok((departure.said, None));
    }
    let fate = match origin {
        // Whoever brings it back finds its own marks.
        Origin::Lives(namespace) if !is_leaving && !departure.has_opted_out(namespace) => {
            Afterwards::Leave
        }
        // To leave it would be as much of a guess as to delete it: nobody comes back for what is gone.
        Origin::Unknown(why) if !is_leaving => return Err(Doubt(why.clone())),
        Origin::Lives(_) | Origin::Unknown(_) => Afterwards::Preserve,
        Origin::Ends if is_owned(departure.work) || !is_leaving => Afterwards::Delete,
        // The work was written by hand, or the namespace was deleted and left behind what it owned (`Orphan`): it did not go
        // because anybody wanted the namespace to go.
        Origin::Ends => Afterwards::Preserve,
    };
    if fate == Afterwards::Delete {
        return Ok((fate, None));
    }
    let told = Action::report(
        about(departure),
        EventKind::Normal,
        NAMESPACE_STAYS,
        message(departure),
    );
    Ok((fate, Some(told)))
}

impl Departure<'_> {
    /// Whether it is sent to clusters only where a policy says so: nobody else brings it back.
    fn has_opted_out(&self, namespace: &Object) -> bool {
        let label = namespace.label(SKIP_AUTO_PROPAGATION);
        self.is_skipped || label.is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// Whether the work belongs to a namespace of the control plane, and goes with it.
fn is_owned(work: &Object) -> bool {
    let mut owners = work.owner_references();
    owners.any(|owner| owner.kind == "Namespace")
}

fn about(departure: &Departure<'_>) -> ObjectRef {
    match departure.origin {
        Origin::Lives(namespace) => ObjectRef {
            kind: resources::namespaces().kind,
            key: ObjectKey::cluster(namespace.name()),
            uid: namespace.uid().to_owned(),
            revision: String::new(),
        },
        _ => ObjectRef::of(departure.work),
    }
}

fn message(departure: &Departure<'_>) -> String {
    let (name, cluster) = (departure.manifest.name(), departure.cluster);
    let why = if departure.is_leaving {
        format!("cluster {cluster} is being removed")
    } else {
        format!("its work {} was deleted", departure.work.key())
    };
    let but = match departure.origin {
        Origin::Lives(_) => "it is not deleted in the control plane",
        Origin::Ends => "it does not belong to a namespace of the control plane",
        Origin::Unknown(_) => "nobody says whether it was deleted in the control plane",
    };
    format!("namespace {name} stays in cluster {cluster} with what is in it: {why}, but {but}")
}
