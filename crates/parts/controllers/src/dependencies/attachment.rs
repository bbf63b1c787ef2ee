//! The binding of something that templates refer to: on the clusters of all who refer to it.
//!
//! The decision is made for the object referred to, not for each of those that refer to it: a thousand workloads with one
//! ConfigMap are one list, written when it changes, by one writer.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    TypeName, names,
    well_known::{
        annotations::ACTIVATION_FINGERPRINT,
        events::binding::{
            DEPENDENCY_POLICY_CONFLICT, SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_FAILED,
            SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_SUCCEED,
        },
        finalizers,
        labels::{DEPENDED_BY_PREFIX, depended_by},
    },
    work::v1alpha2::{BindingSnapshot, ResourceBinding, ResourceBindingSpec},
};
use binding::dependencies::{self, Wishes, resource, snapshot};
use binding::terms;
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{Map, Object, ObjectKey, Value, patch};
use policy::{Holder, activation::Fingerprint};
use serde_json::json;

use crate::{
    binding_view::{self, Binding},
    bindings::version_of,
    views::UNTIL_IN_VIEW,
};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The namespace of those that refer to the object, in which its binding is.
    pub namespace: &'a str,
    /// The object that is referred to; `None` if it is not there (yet).
    pub dependency: Option<&'a Object>,
    /// Its binding, if it has one.
    pub binding: Option<&'a Object>,
    /// The bindings that refer to it, by name.
    pub referrers: &'a [Referrer],
    /// Whether all bindings are in view, and the object if it is there: only then may somebody be found to refer to it no
    /// longer.
    pub are_all: bool,
}

/// A binding whose template refers to the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Referrer {
    /// The binding.
    pub key: ObjectKey,
    /// Its permanent id.
    pub permanent_id: String,
    /// The versions in which it names the object, in the order of its references.
    pub versions: Vec<String>,
    /// What it says.
    pub spec: ResourceBindingSpec,
}

/// The version in which the object is sent: a policy that holds it has its own, and else those say it who refer to it.
/// `None` leaves it to the server.
#[must_use]
pub fn version<'v>(
    binding: Option<&'v Object>,
    referrers: &'v [Referrer],
    is_served: impl Fn(&str) -> bool,
) -> Option<&'v str> {
    let current = binding.map(version_of);
    if binding.is_some_and(|binding| Holder::of(binding).is_some()) {
        return current;
    }
    let named = referrers.iter().flat_map(|referrer| &referrer.versions);
    let named: Vec<&str> = named.map(String::as_str).collect();
    dependencies::version(&named, current, is_served)
}

/// Writes the binding of an object that is referred to, or takes the snapshots off it when it no longer is.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    if !inputs.are_all {
        plan.wake = UNTIL_IN_VIEW;
    }
    match (inputs.binding, inputs.dependency) {
        // What is going gets nothing new: whoever waits for all it owns to be gone would wait for ever.
        (None, Some(dependency))
            if !inputs.referrers.is_empty() && !dependency.is_terminating() =>
        {
            match terms::check_names(dependency) {
                Ok(()) => {
                    plan.push(inputs.create(dependency));
                    inputs.tell_handed_on(&mut plan, dependency, &[]);
                }
                Err(unusable) => {
                    for referrer in inputs.referrers {
                        inputs.warn(&mut plan, referrer, unusable.to_string());
                    }
                }
            }
        }
        (None, _) => {}
        (Some(binding), dependency) if !binding.is_terminating() => {
            inputs.update(&mut plan, binding, dependency);
        }
        (Some(_), _) => {}
    }
    plan
}

impl Inputs<'_> {
    fn create(&self, dependency: &Object) -> Action {
        let wishes = self.wishes();
        let spec = ResourceBindingSpec {
            resource: resource(dependency),
            required_by: self.snapshots(),
            conflict_resolution: wishes.conflict_resolution,
            preserve_resources_on_deletion: wishes.preserve,
            ..ResourceBindingSpec::default()
        };
        let labels: Map = self
            .labels()
            .into_iter()
            .map(|(key, value)| (key, Value::from(value)))
            .collect();
        let metadata = json!({
            "name": names::binding_name(dependency.kind(), dependency.name()),
            "namespace": self.namespace,
            "labels": labels,
            "annotations": {ACTIVATION_FINGERPRINT: Fingerprint::of(dependency).to_string()},
            "ownerReferences": [terms::owner(dependency)],
            "finalizers": [finalizers::BINDING],
        });
        let mut object = Object::default();
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), ResourceBinding::API_VERSION.into());
        fields.insert("kind".to_owned(), ResourceBinding::KIND.into());
        fields.insert("metadata".to_owned(), metadata);
        fields.insert("spec".to_owned(), json!(spec));
        Action::Create {
            resource: binding_view::resource(self.namespace),
            object,
        }
    }

    fn update(&self, plan: &mut Plan, binding: &Object, dependency: Option<&Object>) {
        if let Some(dependency) = dependency
            && !self.referrers.is_empty()
            && let Err(foreign) = terms::check_owner(binding, dependency)
        {
            for referrer in self.referrers {
                self.warn(plan, referrer, foreign.to_string());
            }
            return;
        }
        let Ok(current) = Binding::read(binding) else {
            return;
        };
        let mut spec = current.spec.clone();
        spec.required_by = self.kept_snapshots(&current.spec);
        let mut metadata = self.label_changes(binding);
        let mut disagreement = None;
        // A binding that has a placement has or had a policy of its own, which says the rest.
        let is_ours = current.spec.placement.is_none();
        // What those want that are not in view is not known to be over.
        if is_ours && self.are_all {
            let wishes = self.wishes();
            spec.conflict_resolution = wishes.conflict_resolution;
            spec.preserve_resources_on_deletion = wishes.preserve;
            disagreement = wishes.disagreement;
        }
        // Once no policy claims the object any more, those who refer to it still need it as it is.
        let is_needed = !self.referrers.is_empty() && Holder::of(binding).is_none();
        if let Some(dependency) = dependency.filter(|_| is_ours || is_needed) {
            let now = Fingerprint::of(dependency);
            if Fingerprint::noted_on(binding) != Some(now) {
                spec.resource = resource(dependency);
                metadata.insert(
                    "annotations".to_owned(),
                    json!({ACTIVATION_FINGERPRINT: now.to_string()}),
                );
            }
            // The object that it was made for is gone, and left it behind.
            if terms::takes_over(dependency, binding) {
                spec.resource = resource(dependency);
                let owners = json!([terms::owner(dependency)]);
                metadata.insert("ownerReferences".to_owned(), owners);
            }
        }
        let mut patch = Map::new();
        if !metadata.is_empty() {
            patch.insert("metadata".to_owned(), Value::Object(metadata));
        }
        let change = patch::diff(&json!(current.spec), &json!(spec));
        if change != json!({}) {
            patch.insert("spec".to_owned(), change);
        }
        if !patch.is_empty() {
            plan.push(Action::patch(
                binding_view::resource(binding.namespace()),
                binding,
                Value::Object(patch),
                Part::Object,
            ));
            if let Some(dependency) = dependency {
                self.tell_handed_on(plan, dependency, &current.spec.required_by);
            }
        }
        // Also where nothing changes: a binding that was made for several who disagree is looked at once it is there.
        if let Some(disagreement) = disagreement {
            plan.push(Action::report(
                ObjectRef::of(binding),
                EventKind::Warning,
                DEPENDENCY_POLICY_CONFLICT,
                disagreement,
            ));
        }
    }

    fn wishes(&self) -> Wishes {
        dependencies::wishes(self.referrers.iter().map(|referrer| &referrer.spec))
    }

    /// One snapshot for each that refers to the object.
    fn snapshots(&self) -> Vec<BindingSnapshot> {
        let mut snapshots: Vec<BindingSnapshot> = self
            .referrers
            .iter()
            .map(|referrer| snapshot(&referrer.key, &referrer.spec))
            .collect();
        snapshots.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        snapshots
    }

    /// The same; while not all bindings are in view, those of bindings that are not seen stay.
    fn kept_snapshots(&self, current: &ResourceBindingSpec) -> Vec<BindingSnapshot> {
        let mut snapshots = self.snapshots();
        if !self.are_all {
            for old in &current.required_by {
                let is_known = snapshots
                    .iter()
                    .any(|new| (&new.namespace, &new.name) == (&old.namespace, &old.name));
                if !is_known {
                    snapshots.push(old.clone());
                }
            }
            snapshots.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        }
        snapshots
    }

    fn labels(&self) -> BTreeMap<String, String> {
        self.referrers
            .iter()
            .map(|referrer| (label(&referrer.key), referrer.permanent_id.clone()))
            .collect()
    }

    fn label_changes(&self, binding: &Object) -> Map {
        let wanted = self.labels();
        let mut changes = Map::new();
        for (key, value) in &wanted {
            if binding.label(key) != Some(value) {
                changes.insert(key.clone(), Value::from(value.as_str()));
            }
        }
        for key in binding.labels().keys() {
            if self.are_all && key.starts_with(DEPENDED_BY_PREFIX) && !wanted.contains_key(*key) {
                changes.insert((*key).to_owned(), Value::Null);
            }
        }
        let mut metadata = Map::new();
        if !changes.is_empty() {
            metadata.insert("labels".to_owned(), Value::Object(changes));
        }
        metadata
    }

    fn warn(&self, plan: &mut Plan, referrer: &Referrer, message: String) {
        plan.problem(referrer.key.to_string(), &message);
        plan.push(Action::report(
            self.about(&referrer.key),
            EventKind::Warning,
            SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_FAILED,
            message,
        ));
    }

    /// Tells those whose clusters were not handed on before. How many replicas they have there is nothing to the object.
    fn tell_handed_on(&self, plan: &mut Plan, dependency: &Object, before: &[BindingSnapshot]) {
        for new in self.snapshots() {
            if new.clusters.is_empty() || before.iter().any(|old| names_the_same(old, &new)) {
                continue;
            }
            let key = ObjectKey::namespaced(&*new.namespace, &*new.name);
            plan.push(Action::report(
                self.about(&key),
                EventKind::Progress,
                SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_SUCCEED,
                format!("{} {} goes along", dependency.kind(), dependency.key()),
            ));
        }
    }

    /// A binding that refers to the object, as events name it.
    fn about(&self, referrer: &ObjectKey) -> ObjectRef {
        ObjectRef {
            kind: binding_view::resource(self.namespace).kind,
            key: referrer.clone(),
            ..ObjectRef::default()
        }
    }
}

/// Whether a binding carries a snapshot of one that refers to its object.
#[must_use]
pub fn is_listed(binding: &Object, referrer: &ObjectKey) -> bool {
    let snapshots = binding
        .at(&["spec", "requiredBy"])
        .and_then(Value::as_array);
    snapshots.into_iter().flatten().any(|snapshot| {
        let text = |field: &str| snapshot.get(field).and_then(Value::as_str);
        text("name") == Some(&referrer.name)
            && text("namespace").unwrap_or_default() == referrer.namespace
    })
}

/// The label by which a binding marks what it refers to.
#[must_use]
pub fn label(referrer: &ObjectKey) -> String {
    depended_by(&names::binding_reference_key(
        &referrer.namespace,
        &referrer.name,
    ))
}

/// Whether two snapshots are of the same binding on the same clusters.
fn names_the_same(old: &BindingSnapshot, new: &BindingSnapshot) -> bool {
    let clusters = |snapshot: &BindingSnapshot| -> BTreeSet<String> {
        let targets = snapshot.clusters.iter();
        targets.map(|target| target.name.clone()).collect()
    };
    (&old.namespace, &old.name) == (&new.namespace, &new.name) && clusters(old) == clusters(new)
}
