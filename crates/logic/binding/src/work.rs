//! The work for one cluster.

use std::collections::BTreeMap;

use api::{
    TypeName, names,
    policy::ConflictResolution,
    registry::Scope,
    twins::BindingView,
    well_known::{
        annotations::{
            APPLIED_CLUSTER_OVERRIDES, APPLIED_OVERRIDES, CLUSTER_RESOURCE_BINDING_NAME,
            CONFLICT_ABORT, CONFLICT_OVERWRITE, CONFLICT_RESOLUTION, RESOURCE_BINDING_NAME,
            RESOURCE_BINDING_NAMESPACE, TEMPLATE_GENERATION, TEMPLATE_UID, WORK_NAME,
            WORK_NAMESPACE,
        },
        finalizers,
        labels::{MANAGED, TRUE, permanent_id},
    },
    work::{v1alpha1::Work, v1alpha2::ResourceBindingSpec},
};
use object::{Object, ObjectKey, Value, object::SetError};

use crate::{completions, manifest::finish};

/// Where a work says whether what it made stays in the cluster when the work goes.
pub const PRESERVES: [&str; 2] = ["spec", "preserveResourcesOnDeletion"];

/// Where a work says whether changes are held back from its cluster.
const SUSPENDS: [&str; 2] = ["spec", "suspendDispatching"];

/// All that a work is made of.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The binding.
    pub binding: BindingView<'a>,
    /// The template as its author wrote it.
    pub template: &'a Object,
    /// The cluster.
    pub cluster: &'a str,
    /// The template as the cluster is to get it: replicas revised, completions shared, overrides applied.
    pub rendered: Object,
    /// The cluster's share of a Job's completions, where those are shared.
    pub share: Option<i64>,
    /// What the work notes of the override policies that were applied.
    pub applied_overrides: BTreeMap<&'static str, String>,
    /// Labels inherited from a copy that failed.
    pub inherited_labels: Option<&'a BTreeMap<String, String>>,
    /// Whether the binding's clusters are those of a placement that it has no longer, and others may be chosen in a moment.
    pub awaits_decision: bool,
    /// The work as it is now, if there is one.
    pub existing: Option<&'a Object>,
}

/// Why a work cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// There is one of the name that is going away; it has to be gone first.
    #[error("work {0} is being deleted")]
    Terminating(ObjectKey),
    /// The object has something else where metadata should be.
    #[error("cannot write the metadata of {what}")]
    Metadata {
        /// The work or its manifest.
        what: &'static str,
        /// What is in the way.
        source: SetError,
    },
}

/// The name of the work for an object in a cluster.
#[must_use]
pub fn key(rendered: &Object, cluster: &str) -> ObjectKey {
    let name = names::work_name(rendered.kind(), rendered.name(), rendered.namespace());
    ObjectKey::namespaced(names::execution_space(cluster), name)
}

/// The work that a draft describes: the existing one with what differs, or a new one.
pub fn draft(draft: Draft<'_>) -> Result<Object, WorkError> {
    let key = key(&draft.rendered, draft.cluster);
    let existing = draft.existing.filter(|work| work.key() == key);
    if existing.is_some_and(Object::is_terminating) {
        return Err(WorkError::Terminating(key));
    }
    let manifest = draft
        .manifest(&key, existing)
        .map_err(|source| WorkError::Metadata {
            what: "the manifest",
            source,
        })?;
    draft
        .work(&key, existing, manifest)
        .map_err(|source| WorkError::Metadata {
            what: "the work",
            source,
        })
}

/// How a conflict with an object that is already in a member is resolved. What the author of the template says goes
/// before what the policy says; anything else than the two words is ignored.
#[must_use]
pub fn conflict_resolution(template: &Object, binding: &ResourceBindingSpec) -> &'static str {
    match template.annotation(CONFLICT_RESOLUTION) {
        Some(CONFLICT_OVERWRITE) => CONFLICT_OVERWRITE,
        Some(CONFLICT_ABORT) => CONFLICT_ABORT,
        _ if binding.conflict_resolution == Some(ConflictResolution::Overwrite) => {
            CONFLICT_OVERWRITE
        }
        _ => CONFLICT_ABORT,
    }
}

/// Whether changes are held back from a cluster. Deletion is never held back.
#[must_use]
pub fn is_suspended(binding: &ResourceBindingSpec, cluster: &str) -> bool {
    let Some(suspension) = &binding.suspension else {
        return false;
    };
    suspension.policy.dispatching == Some(true)
        || suspension
            .policy
            .dispatching_on_clusters
            .as_ref()
            .is_some_and(|clusters| clusters.cluster_names.iter().any(|name| name == cluster))
}

/// Whether changes are held back from a cluster that has this work. What is held back stays so while a decision about the
/// clusters is to come: whoever ends a suspension and moves the placement in one change does not mean the old clusters.
///
/// Upstream: what was held back is sent to the clusters that are about to be left.
#[must_use]
pub fn is_held_back(
    binding: &ResourceBindingSpec,
    cluster: &str,
    work: Option<&Object>,
    awaits_decision: bool,
) -> bool {
    is_suspended(binding, cluster) || (awaits_decision && work.is_some_and(holds_back))
}

/// Whether a work holds changes back from its cluster.
#[must_use]
pub fn holds_back(work: &Object) -> bool {
    work.at(&SUSPENDS) == Some(&Value::Bool(true))
}

/// Whether what a work made stays in its cluster when the work goes. `policy_preserves` says whether the policy that
/// holds the binding wants that by now: one that the binding does not follow yet may keep things, not delete them.
///
/// A binding that no policy placed loses clusters in the same write by which those who brought it there take back what
/// they wished for. What its work says is then what they wished for while they were there, and still holds.
#[must_use]
pub fn is_preserved(binding: &ResourceBindingSpec, work: &Object, policy_preserves: bool) -> bool {
    let is_brought_along = binding.placement.is_none();
    binding.preserve_resources_on_deletion == Some(true)
        || policy_preserves
        || (is_brought_along && work.at(&PRESERVES) == Some(&Value::Bool(true)))
}

/// Whether a cluster keeps the work it has while nobody speaks for the template as it is now. `draft` is what it would get
/// now, if that can be rendered; `is_revised` says whether it gets a number of replicas of its own.
///
/// What was written for it is not there to be divided anew, so a cluster that takes over replicas of another gets them as
/// the template has them now: old copies that are too few help nobody.
#[must_use]
pub fn is_kept(held: &Object, draft: Option<&Object>, is_revised: bool) -> bool {
    // What cannot be rendered replaces nothing.
    draft.is_none_or(|draft| !is_revised || replicas(held) == replicas(draft))
}

/// The fields by which a work says how many replicas its cluster runs.
fn replicas(work: &Object) -> [Option<&Value>; 2] {
    let manifests = work.at(&["spec", "workload", "manifests"]);
    let spec = manifests.and_then(|manifests| manifests.get(0)?.get("spec"));
    ["replicas", "parallelism"].map(|field| spec?.get(field))
}

impl Draft<'_> {
    fn manifest(&self, key: &ObjectKey, existing: Option<&Object>) -> Result<Object, SetError> {
        let mut manifest = self.rendered.clone();
        for (label, value) in self.inherited_labels.into_iter().flatten() {
            set_label(&mut manifest, label, value)?;
        }
        if let Some(id) = self.binding.permanent_id() {
            set_label(&mut manifest, self.binding.permanent_id_label(), id)?;
        }
        set_label(&mut manifest, MANAGED, TRUE)?;
        for (annotation, value) in self.shared_annotations() {
            set_annotation(&mut manifest, annotation, value)?;
        }
        set_annotation(&mut manifest, TEMPLATE_UID, self.template.uid())?;
        let generation = self.template.generation();
        if generation > 0 {
            set_annotation(&mut manifest, TEMPLATE_GENERATION, &generation.to_string())?;
        }
        set_annotation(&mut manifest, WORK_NAMESPACE, &key.namespace)?;
        set_annotation(&mut manifest, WORK_NAME, &key.name)?;
        let work_id = existing.and_then(|work| work.label(permanent_id::WORK));
        finish(manifest, work_id)
    }

    fn work(
        &self,
        key: &ObjectKey,
        existing: Option<&Object>,
        manifest: Object,
    ) -> Result<Object, SetError> {
        let mut work = existing.cloned().unwrap_or_default();
        if existing.is_none() {
            work.set(&["apiVersion"], Work::API_VERSION)?;
            work.set(&["kind"], Work::KIND)?;
            work.set(&["metadata", "name"], key.name.as_str())?;
            work.set(&["metadata", "namespace"], key.namespace.as_str())?;
        }
        let mut finalizers: Vec<&str> = work.finalizers().collect();
        finalizers.push(finalizers::EXECUTION);
        finalizers.sort_unstable();
        finalizers.dedup();
        let finalizers: Vec<String> = finalizers.into_iter().map(str::to_owned).collect();
        work.set(&["metadata", "finalizers"], finalizers)?;
        if let Some(id) = self.binding.permanent_id() {
            set_label(&mut work, self.binding.permanent_id_label(), id)?;
        }
        for (annotation, value) in self.shared_annotations() {
            set_annotation(&mut work, annotation, value)?;
        }
        self.note_overrides(&mut work)?;
        self.note_completions(&mut work)?;
        work.set(
            &["spec", "workload", "manifests"],
            vec![manifest.into_value()],
        )?;
        let spec = self.binding.spec;
        let is_held_back = is_held_back(spec, self.cluster, existing, self.awaits_decision);
        work.set(&SUSPENDS, is_held_back)?;
        work.set(
            &PRESERVES,
            spec.preserve_resources_on_deletion.unwrap_or_default(),
        )?;
        Ok(work)
    }

    /// Upstream: a note outlives the policy it is about.
    fn note_overrides(&self, work: &mut Object) -> Result<(), SetError> {
        for annotation in [APPLIED_OVERRIDES, APPLIED_CLUSTER_OVERRIDES] {
            match self.applied_overrides.get(annotation) {
                Some(note) => set_annotation(work, annotation, note)?,
                None => drop(work.remove(&["metadata", "annotations", annotation])),
            }
        }
        Ok(())
    }

    /// What overrides hide of what the cluster was given.
    fn note_completions(&self, work: &mut Object) -> Result<(), SetError> {
        let annotation = completions::ANNOTATION;
        match completions::note(self.template, self.share, &self.rendered) {
            Some(given) => set_annotation(work, annotation, &given.to_string())?,
            None => drop(work.remove(&["metadata", "annotations", annotation])),
        }
        Ok(())
    }

    /// The annotations that a work and its manifest share: whose they are, and what to do in a conflict.
    fn shared_annotations(&self) -> Vec<(&'static str, &str)> {
        let metadata = self.binding.metadata;
        let mut annotations = match self.binding.scope {
            Scope::Namespaced => vec![
                (RESOURCE_BINDING_NAMESPACE, metadata.namespace.as_str()),
                (RESOURCE_BINDING_NAME, metadata.name.as_str()),
            ],
            Scope::Cluster => vec![(CLUSTER_RESOURCE_BINDING_NAME, metadata.name.as_str())],
        };
        annotations.push((
            CONFLICT_RESOLUTION,
            conflict_resolution(self.template, self.binding.spec),
        ));
        annotations
    }
}

fn set_label(object: &mut Object, key: &str, value: &str) -> Result<(), SetError> {
    object.set(&["metadata", "labels", key], Value::from(value))
}

fn set_annotation(object: &mut Object, key: &str, value: &str) -> Result<(), SetError> {
    object.set(&["metadata", "annotations", key], Value::from(value))
}
