//! A work that goes, and what it leaves in the member.

use std::error::Error as _;

use api::{cluster::Cluster, well_known::finalizers, work::v1alpha1::Work};
use client::CallError;
use control::{Cx, ReconcileError, Wake};
use intent::{Action, Part, Plan};
use object::time::Time;
use object::{GroupVersionKind, Object, ObjectKey, ResourceType};

use crate::apply::namespace::{Departure, Origin, depart, is_namespace};
use crate::apply::outcome;
use crate::apply::release::{Afterwards, is_managed, release};
use crate::resources;
use crate::works::Works;
use crate::works::kinds::KindError;
use crate::works::misfits::nowhere;

/// How long a kind may be away before somebody is told: a definition that goes at the same time may still be in view.
const TOLD_AFTER: i64 = 10;

/// Where the objects of a kind are that is not where it was.
enum Whereabouts {
    /// In another version of it.
    Elsewhere(ResourceType),
    /// There are none any more.
    Gone,
    /// They may be there, and out of reach for now.
    Unknown,
}

impl Works {
    /// Deletes or lets go of what the work made, then lets go of the work.
    ///
    /// Every object is read from the member itself first: a cache may lack one, and what a cache shows may be old.
    pub(super) async fn release(
        &self,
        object: &Object,
        work: &Work,
        manifests: &[Object],
        cx: &Cx,
    ) -> Result<Wake, ReconcileError> {
        if object
            .finalizers()
            .all(|name| name != finalizers::EXECUTION)
        {
            return Ok(Wake::OnChange);
        }
        let afterwards = match work.spec.preserve_resources_on_deletion {
            Some(true) => Afterwards::Preserve,
            _ => Afterwards::Delete,
        };
        let mut plan = Plan::default();
        let mut left = Vec::new();
        for manifest in manifests {
            let (afterwards, told) = match is_namespace(manifest) {
                true => self.depart(object, manifest, afterwards, cx).await?,
                false => (afterwards, None),
            };
            let key = object.key();
            let is_there = match self.release_one(&key, manifest, afterwards).await {
                Ok(is_there) => is_there,
                Err(ReconcileError::Gather(error)) => {
                    return self.hold(object, manifest, afterwards, error, cx).await;
                }
                Err(error) => {
                    if is_overdue(object, cx.now()) {
                        let why = error.source().map(ToString::to_string).unwrap_or_default();
                        let told = outcome::kept(object, manifest, afterwards, &why);
                        cx.carry_out(&told).await?;
                    }
                    return Err(error);
                }
            };
            plan.extend(told.filter(|_| is_there));
            if afterwards == Afterwards::Leave {
                left.push(manifest);
            }
        }
        self.follow(&object.key(), &left, cx).await?;
        let rest: Vec<&str> = object
            .finalizers()
            .filter(|name| *name != finalizers::EXECUTION)
            .collect();
        let patch = serde_json::json!({"metadata": {"finalizers": rest}});
        plan.push(Action::patch(
            resources::of::<Work>(),
            object,
            patch,
            Part::Object,
        ));
        cx.carry_out(&plan).await?;
        self.follow(&object.key(), &left, cx).await?;
        Ok(Wake::OnChange)
    }

    /// Deletes namespaces that were left in the member, if they were deleted in the control plane since. Looked at before
    /// the work goes and after: once it is gone nobody else asks.
    async fn follow(
        &self,
        work: &ObjectKey,
        left: &[&Object],
        cx: &Cx,
    ) -> Result<(), ReconcileError> {
        for manifest in left {
            if read(cx, &resources::namespaces(), manifest.name()).await? == Origin::Ends {
                self.release_one(work, manifest, Afterwards::Delete).await?;
            }
        }
        Ok(())
    }

    /// What becomes of a namespace, by what the control plane itself says of it just now.
    async fn depart(
        &self,
        work: &Object,
        manifest: &Object,
        said: Afterwards,
        cx: &Cx,
    ) -> Result<(Afterwards, Option<Action>), ReconcileError> {
        let namespace = read(cx, &resources::namespaces(), manifest.name()).await?;
        let cluster = read(cx, &resources::of::<Cluster>(), &self.cluster).await?;
        let fate = depart(&Departure {
            work,
            manifest,
            cluster: &self.cluster,
            said,
            origin: &namespace,
            is_leaving: cluster == Origin::Ends,
            is_skipped: self.skipped.contains(manifest.name()),
        });
        match fate {
            Ok(fate) => Ok(fate),
            Err(doubt) => {
                let told = outcome::kept(work, manifest, said, &doubt.to_string());
                cx.carry_out(&told).await?;
                Err(ReconcileError::Failed {
                    doing: format!("cannot release {} {}", manifest.kind(), manifest.key()),
                    source: doubt.into(),
                })
            }
        }
    }

    /// Tells why a work cannot go, where its member said no. It is tried again by and by: what forbids it there may go, and
    /// nobody tells.
    async fn hold(
        &self,
        object: &Object,
        manifest: &Object,
        afterwards: Afterwards,
        error: CallError,
        cx: &Cx,
    ) -> Result<Wake, ReconcileError> {
        let is_stale = error.is_conflict() || error.is_wrong_uid();
        let Some(refusal) = error
            .refusal()
            .filter(|_| !is_stale && !error.is_overloaded())
        else {
            return Err(ReconcileError::Gather(error));
        };
        let told = outcome::kept(object, manifest, afterwards, &refusal.message);
        cx.carry_out(&told).await?;
        Err(ReconcileError::Failed {
            doing: format!("cannot release {} {}", manifest.kind(), manifest.key()),
            source: error.into(),
        })
    }

    /// Where the objects of a kind are that is not where it was.
    fn whereabouts(&self, error: &KindError) -> Whereabouts {
        let KindError::NotServed(kind) = error else {
            return Whereabouts::Unknown;
        };
        let discovery = self.connection.kinds.current();
        let other = discovery.as_ref().and_then(|discovery| {
            // Members give up versions, not objects.
            discovery.find_kind(&kind.group_kind())
        });
        match other {
            Some(found) => Whereabouts::Elsewhere(found.resource.clone()),
            None if self.connection.is_gone(kind) => Whereabouts::Gone,
            None => Whereabouts::Unknown,
        }
    }

    /// Whether the member says that objects of a kind can neither be read nor deleted: it answers them, and keeps none.
    fn is_fleeting(&self, kind: &GroupVersionKind) -> bool {
        let discovery = self.connection.kinds.current();
        let found = discovery.as_ref().and_then(|known| known.find(kind));
        found.is_some_and(|found| {
            found.can("create")
                && ["get", "list", "delete"]
                    .iter()
                    .all(|verb| !found.can(verb))
        })
    }

    /// Whether there was an object of ours.
    async fn release_one(
        &self,
        work: &ObjectKey,
        manifest: &Object,
        afterwards: Afterwards,
    ) -> Result<bool, ReconcileError> {
        let resource = match self
            .connection
            .kinds
            .find(&manifest.group_version_kind())
            .await
        {
            Ok(resource) => resource,
            Err(KindError::Call(error)) => return Err(ReconcileError::Gather(error)),
            Err(error) => match self.whereabouts(&error) {
                Whereabouts::Elsewhere(resource) => resource,
                Whereabouts::Gone => return Ok(false),
                Whereabouts::Unknown => {
                    return Err(ReconcileError::Failed {
                        doing: format!("cannot release {} {}", manifest.kind(), manifest.key()),
                        source: error.into(),
                    });
                }
            },
        };
        // It was never brought, and there is no place to look for it; or nothing of its kind ever stays.
        if nowhere(manifest, &resource).is_some()
            || self.is_fleeting(&manifest.group_version_kind())
        {
            return Ok(false);
        }
        let observed = self
            .connection
            .read(&resource, &manifest.key())
            .await
            .map_err(ReconcileError::Gather)?;
        let is_there = observed
            .as_ref()
            .is_some_and(|observed| is_managed(manifest, observed));
        let action =
            observed.and_then(|observed| release(work, manifest, &resource, &observed, afterwards));
        if let Some(action) = action {
            self.connection
                .write(action)
                .await
                .map_err(ReconcileError::Gather)?;
        }
        self.connection.records.forget(manifest);
        self.connection.contests.forget(manifest);
        Ok(is_there)
    }
}

/// Whether a work should have been gone by now.
fn is_overdue(work: &Object, now: Time) -> bool {
    let since = work.deletion_timestamp();
    since.is_some_and(|since| now >= since.plus_seconds(TOLD_AFTER))
}

/// What the control plane says of a cluster-wide object.
async fn read(cx: &Cx, resource: &ResourceType, name: &str) -> Result<Origin, ReconcileError> {
    let key = ObjectKey::cluster(name);
    let answer = cx.client.get_metadata(resource, &key).await;
    Origin::from(answer, name).map_err(ReconcileError::Gather)
}
