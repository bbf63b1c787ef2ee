//! What a join has made so far, to be taken back when a later step fails: an account that may do everything is not left
//! in a cluster that has not joined.
//!
//! Invariant: only what was not there before is noted, and only the very object that was made is taken back. The namespaces
//! stay: they are empty, and a namespace that is going would hold up the next try.

use client::{Client, DeleteOptions};
use object::{Object, ObjectKey, ResourceType};
use telemetry::chain;

/// Where something was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the cluster that is to join.
    Member,
    /// In the control plane it is to join.
    ControlPlane,
}

/// What was made, in order.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    place: Place,
    resource: ResourceType,
    key: ObjectKey,
    /// Empty as long as nobody has answered that it was made.
    uid: String,
}

impl Ledger {
    /// Notes that something that is not there is about to be made.
    pub(super) fn begin(&mut self, place: Place, resource: &ResourceType, key: &ObjectKey) {
        self.made.push(Made {
            place,
            resource: resource.clone(),
            key: key.clone(),
            uid: String::new(),
        });
    }

    /// Notes that what was begun last is there.
    pub(super) fn end(&mut self, object: &Object) {
        if let Some(made) = self.made.last_mut() {
            made.uid = object.uid().to_owned();
        }
    }

    /// Notes that what was begun last was refused.
    pub(super) fn refused(&mut self) {
        self.made.pop();
    }

    /// What was made in a place is somebody else's by now.
    pub(super) fn forget(&mut self, place: Place) {
        self.made.retain(|made| made.place != place);
    }

    /// What has this name in a place is somebody else's by now.
    pub(super) fn spare(&mut self, place: Place, name: &str) {
        let is_theirs = |made: &Made| made.place == place && made.key.name == name;
        self.made.retain(|made| !is_theirs(made));
    }

    /// Takes everything back, the last first; says what is left.
    pub(super) async fn take_back(&mut self, control: &Client, member: &Client) -> Vec<String> {
        let mut left = Vec::new();
        for made in self.made.drain(..).rev() {
            let (client, place) = match made.place {
                Place::Member => (member, "the member"),
                Place::ControlPlane => (control, "the control plane"),
            };
            let what = format!("{} {} in {place}", made.resource.kind.kind, made.key);
            if made.uid.is_empty() {
                left.push(format!("{what}, if it was made: nobody answered"));
                continue;
            }
            let options = DeleteOptions {
                uid: Some(made.uid),
                ..DeleteOptions::default()
            };
            match client.delete(&made.resource, &made.key, &options).await {
                Ok(_) => {}
                // Somebody else has taken it away, or has put another in its place.
                Err(error) if error.is_not_found() || error.is_conflict() => {}
                Err(error) => left.push(format!("{what}: {}", chain(&error))),
            }
        }
        left
    }
}
