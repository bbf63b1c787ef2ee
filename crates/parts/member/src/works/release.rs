//! A work that goes, and what it leaves in the member.

use api::{well_known::finalizers, work::v1alpha1::Work};
use control::{Cx, ReconcileError, Wake};
use intent::{Action, Part, Plan};
use object::{Object, ObjectKey};

use crate::apply::release::{Afterwards, release};
use crate::resources;
use crate::works::Works;
use crate::works::kinds::KindError;

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
        for manifest in manifests {
            self.release_one(&object.key(), manifest, afterwards)
                .await?;
        }
        let rest: Vec<&str> = object
            .finalizers()
            .filter(|name| *name != finalizers::EXECUTION)
            .collect();
        let patch = serde_json::json!({"metadata": {"finalizers": rest}});
        let mut plan = Plan::default();
        plan.push(Action::patch(
            resources::of::<Work>(),
            object,
            patch,
            Part::Object,
        ));
        cx.carry_out(&plan).await?;
        Ok(Wake::OnChange)
    }

    async fn release_one(
        &self,
        work: &ObjectKey,
        manifest: &Object,
        afterwards: Afterwards,
    ) -> Result<(), ReconcileError> {
        let resource = match self
            .connection
            .kinds
            .find(&manifest.group_version_kind())
            .await
        {
            Ok(resource) => resource,
            // A kind that is not served has no objects.
            Err(KindError::NotServed(_)) => return Ok(()),
            Err(KindError::Call(error)) => return Err(ReconcileError::Gather(error)),
            Err(error @ KindError::Unknown(_)) => {
                return Err(ReconcileError::Failed {
                    doing: format!("cannot release {} {}", manifest.kind(), manifest.key()),
                    source: error.into(),
                });
            }
        };
        let observed = self
            .connection
            .read(&resource, &manifest.key())
            .await
            .map_err(ReconcileError::Gather)?;
        let action = observed.and_then(|observed| release(work, &resource, &observed, afterwards));
        if let Some(action) = action {
            self.connection
                .write(action)
                .await
                .map_err(ReconcileError::Gather)?;
        }
        self.connection.records.forget(manifest);
        Ok(())
    }
}
