//! What is written for a template: its claim, and its binding.

use api::{
    TypeName,
    registry::Scope,
    well_known::conditions::binding::POLICY_APPLIED,
    well_known::events::template::{
        APPLY_POLICY_FAILED, APPLY_POLICY_SUCCEED, GET_REPLICAS_SUCCEED, PREEMPT_POLICY_SUCCEED,
    },
    work::v1alpha2::{ClusterResourceBinding, ResourceBinding, ResourceBindingSpec},
};
use binding::{Lookups, terms};
use intent::{Action, EventKind, ObjectRef, Part, Plan};
use object::{
    GroupVersionKind, Map, Object, OwnerReference, ResourceType, Value, patch, time::Time,
};
use policy::{
    Decision, MetadataEdit, Outcome, Policy, ReleaseCause, ReleaseOrder, activation::Fingerprint,
};
use serde_json::json;

use crate::{
    binding_view::{self, Binding},
    setback::{self, Setback},
    templates::Absence,
    views::UNTIL_IN_VIEW,
};

/// Everything the decision may look at.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// Where templates of the kind are.
    pub resource: &'a ResourceType,
    /// The template.
    pub template: &'a Object,
    /// Its binding, if there is one.
    pub binding: Option<&'a Object>,
    /// Whose the template is to be.
    pub decision: &'a Decision<'a>,
    /// What was looked up for the binding; only used where a policy is applied.
    pub lookups: Result<&'a Lookups, &'a Setback>,
    /// Now.
    pub now: Time,
}

/// What is written for a template that is there.
#[must_use]
pub fn plan(inputs: &Inputs<'_>) -> Plan {
    match &inputs.decision.outcome {
        Outcome::Exempt(_) => Plan::default(),
        Outcome::Applied(policy) => inputs.apply(policy),
        Outcome::Awaiting { policy, missing } => {
            let mut plan = inputs.edits();
            let waits = Setback {
                reason: APPLY_POLICY_FAILED,
                message: format!(
                    "{} waits for override policies that do not exist: {}",
                    policy.id,
                    missing.join(", ")
                ),
            };
            inputs.tell_setback(&mut plan, &waits);
            plan
        }
        Outcome::Unclaimed | Outcome::Held(_) => inputs.edits(),
    }
}

/// What is written for a binding whose template is not found.
///
/// Only a binding that its template owns goes with it: one whose owner was taken away on purpose stays. What is in view of
/// it may be older than that, so it goes only in the state that was looked at.
#[must_use]
pub fn plan_gone(binding: &Object, absence: Absence) -> Plan {
    let mut plan = Plan::default();
    if binding.is_terminating() {
        return plan;
    }
    let Some(owner) = terms::controller(binding) else {
        return plan;
    };
    match absence {
        Absence::Gone => plan.push(Action::delete_as_seen(
            binding_view::resource(binding.namespace()),
            binding,
            format!("its template {} {} is gone", owner.kind, owner.name),
        )),
        Absence::Unseen => plan.wake = UNTIL_IN_VIEW,
        Absence::Unserved => {}
    }
    plan
}

/// Whether it matters that the template is there and stays, and is not seen as it once was: it becomes the owner of a binding
/// that has none, or another's binding makes way for it.
#[must_use]
pub fn is_in_question(template: &Object, binding: &Object) -> bool {
    terms::takes_over(template, binding) || terms::check_owner(binding, template).is_err()
}

/// What is told of a template whose binding was refused.
#[must_use]
pub fn plan_refused(template: &Object, message: &str) -> Plan {
    let mut plan = Plan::default();
    plan.push(Action::report(
        ObjectRef::of(template),
        EventKind::Warning,
        APPLY_POLICY_FAILED,
        message,
    ));
    plan
}

impl Inputs<'_> {
    fn apply(&self, policy: &Policy) -> Plan {
        let mut plan = Plan::default();
        // A claim without a binding would say that the template is on its way.
        if self.binding.is_none()
            && let Err(unusable) = terms::check_names(self.template)
        {
            self.warn(&mut plan, APPLY_POLICY_FAILED, unusable.to_string());
            return plan;
        }
        self.push_template_edit(&mut plan);
        if let Some(release) = &self.decision.release
            && release.cause == ReleaseCause::Preempted
        {
            plan.push(Action::report(
                ObjectRef::of(self.template),
                EventKind::Normal,
                PREEMPT_POLICY_SUCCEED,
                format!("{} takes over from {}", policy.id, release.holder),
            ));
        }
        let lookups = match self.lookups {
            Ok(lookups) => lookups,
            Err(setback) => {
                self.tell_setback(&mut plan, setback);
                return plan;
            }
        };
        let Some(binding) = self.binding else {
            // What is going gets nothing new: whoever waits for all it owns to be gone would wait for ever.
            if !self.template.is_terminating() {
                self.create(&mut plan, policy, lookups);
            }
            return plan;
        };
        if let Err(foreign) = terms::check_owner(binding, self.template) {
            if !binding.is_terminating() && self.is_of_predecessor(binding) {
                plan.push(Action::delete_as_seen(
                    binding_view::resource(binding.namespace()),
                    binding,
                    "its template was deleted, and another of the same name has taken its place",
                ));
            } else if !binding.is_terminating() {
                self.warn(&mut plan, APPLY_POLICY_FAILED, foreign.to_string());
            }
            return plan;
        }
        // A binding that is going is made anew once it is gone.
        if !binding.is_terminating() {
            self.update(&mut plan, policy, lookups, binding);
        }
        plan
    }

    /// Whether the binding is that of an earlier template of the same name, not that of another kind.
    fn is_of_predecessor(&self, binding: &Object) -> bool {
        terms::controller(binding).is_some_and(|owner| {
            let owner_kind = GroupVersionKind::from_api_version(&owner.api_version, &owner.kind);
            let kind = self.template.group_version_kind();
            owner.name == self.template.name()
                && owner_kind.is_ok_and(|owner| owner.group_kind() == kind.group_kind())
        })
    }

    fn create(&self, plan: &mut Plan, policy: &Policy, lookups: &Lookups) {
        let key = terms::key(self.template);
        let (resource, api_version, kind) = match terms::scope(self.template) {
            Scope::Namespaced => (
                binding_view::resource(&key.namespace),
                ResourceBinding::API_VERSION,
                ResourceBinding::KIND,
            ),
            Scope::Cluster => (
                binding_view::resource(""),
                ClusterResourceBinding::API_VERSION,
                ClusterResourceBinding::KIND,
            ),
        };
        let edit = self
            .decision
            .binding_edit(self.template, &Object::default());
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), key.name.into());
        if !key.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), key.namespace.into());
        }
        metadata.insert("labels".to_owned(), added(&edit.labels));
        metadata.insert("annotations".to_owned(), added(&edit.annotations));
        metadata.insert(
            "ownerReferences".to_owned(),
            json!([terms::owner(self.template)]),
        );
        metadata.insert(
            "finalizers".to_owned(),
            json!([terms::finalizer(self.template)]),
        );
        let spec = terms::spec(self.template, &policy.spec, lookups, None);
        let mut object = Object::default();
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("metadata".to_owned(), Value::Object(metadata));
        fields.insert("spec".to_owned(), json!(spec));
        plan.push(Action::Create { resource, object });
        self.tell_applied(plan, policy);
        if spec.replicas > 0 {
            plan.push(Action::report(
                ObjectRef::of(self.template),
                EventKind::Progress,
                GET_REPLICAS_SUCCEED,
                format!("it asks for {} replicas", spec.replicas),
            ));
        }
    }

    fn update(&self, plan: &mut Plan, policy: &Policy, lookups: &Lookups, binding: &Object) {
        let current = match Binding::read(binding) {
            Ok(current) => current,
            Err(error) => {
                let message = format!("cannot read the binding: {error}");
                self.warn(plan, APPLY_POLICY_FAILED, message);
                return;
            }
        };
        let mut spec = terms::spec(self.template, &policy.spec, lookups, Some(&current.spec));
        self.keep_revision(&mut spec, &current.spec, binding);
        let mut patch = self
            .decision
            .binding_edit(self.template, binding)
            .to_merge_patch();
        let lists = self.owned_lists(binding);
        let touches_lists = !lists.is_empty();
        put(&mut patch, "metadata", Value::Object(lists));
        put(
            &mut patch,
            "spec",
            patch::diff(&json!(current.spec), &json!(spec)),
        );
        if patch == json!({}) {
            // Only now does it say what it should.
            plan.extend(setback::tell(
                binding,
                &current.status,
                POLICY_APPLIED,
                None,
                self.now,
            ));
            return;
        }
        let resource = binding_view::resource(binding.namespace());
        // Lists are shared with others, so they are written only as they were seen; all else in the patch is ours alone
        // and holds whatever the scheduler has written meanwhile.
        plan.push(if touches_lists {
            Action::patch(resource, binding, patch, Part::Object)
        } else {
            Action::Patch {
                resource,
                key: binding.key(),
                uid: Some(binding.uid().to_owned()),
                revision: None,
                patch,
                part: Part::Object,
            }
        });
        self.tell_applied(plan, policy);
    }

    /// Lets the binding name the revision it was made from as long as the author has changed nothing since: statuses and
    /// our own labels are revisions too, and a new one would render every work anew.
    fn keep_revision(
        &self,
        spec: &mut ResourceBindingSpec,
        current: &ResourceBindingSpec,
        binding: &Object,
    ) {
        let is_unchanged = Fingerprint::noted_on(binding) == Some(Fingerprint::of(self.template))
            && current.resource.uid == spec.resource.uid;
        if is_unchanged && !current.resource.resource_version.is_empty() {
            spec.resource
                .resource_version
                .clone_from(&current.resource.resource_version);
        }
    }

    /// Owners and finalizers, as far as they differ.
    fn owned_lists(&self, binding: &Object) -> Map {
        let mut lists = Map::new();
        let owner = terms::owner(self.template);
        let owners: Vec<OwnerReference> = binding.owner_references().collect();
        let stays_left = terms::is_left(binding) && !terms::takes_over(self.template, binding);
        if !stays_left && owners != [owner.clone()] {
            lists.insert("ownerReferences".to_owned(), json!([owner]));
        }
        let finalizer = terms::finalizer(self.template);
        if !binding.finalizers().any(|found| found == finalizer) {
            let finalizers: Vec<&str> = binding.finalizers().chain([finalizer]).collect();
            lists.insert("finalizers".to_owned(), json!(finalizers));
        }
        lists
    }

    /// The edits of labels and annotations that take a claim off, or note that a lazy policy holds the template.
    fn edits(&self) -> Plan {
        let mut plan = Plan::default();
        let order = self
            .decision
            .release
            .as_ref()
            .map_or(ReleaseOrder::TemplateFirst, |release| release.cause.order());
        match order {
            ReleaseOrder::BindingFirst => {
                self.push_binding_edit(&mut plan);
                self.push_template_edit(&mut plan);
            }
            ReleaseOrder::TemplateFirst => {
                self.push_template_edit(&mut plan);
                self.push_binding_edit(&mut plan);
            }
        }
        plan
    }

    fn push_template_edit(&self, plan: &mut Plan) {
        let edit = self.decision.template_edit(self.template);
        push_edit(plan, self.resource.clone(), self.template, &edit);
    }

    fn push_binding_edit(&self, plan: &mut Plan) {
        let Some(binding) = self.binding else {
            return;
        };
        // Somebody else's binding carries somebody else's claim.
        if terms::check_owner(binding, self.template).is_err() {
            return;
        }
        let edit = self.decision.binding_edit(self.template, binding);
        let mut patch = edit.to_merge_patch();
        if terms::returns(self.template, binding) {
            let owners = json!({"ownerReferences": [terms::owner(self.template)]});
            put(&mut patch, "metadata", owners);
        }
        if patch != json!({}) {
            let resource = binding_view::resource(binding.namespace());
            plan.push(Action::patch(resource, binding, patch, Part::Object));
        }
    }

    fn tell_applied(&self, plan: &mut Plan, policy: &Policy) {
        plan.push(Action::report(
            ObjectRef::of(self.template),
            EventKind::Normal,
            APPLY_POLICY_SUCCEED,
            format!("{} is applied", policy.id),
        ));
    }

    /// Tells the author, and whoever looks at the binding, which then says what the template once said.
    fn tell_setback(&self, plan: &mut Plan, setback: &Setback) {
        self.warn(plan, setback.reason, setback.message.clone());
        let own = self.binding.filter(|binding| {
            !binding.is_terminating() && terms::check_owner(binding, self.template).is_ok()
        });
        if let Some(binding) = own
            && let Ok(current) = Binding::read(binding)
        {
            let (status, now) = (&current.status, self.now);
            plan.extend(setback::tell(
                binding,
                status,
                POLICY_APPLIED,
                Some(setback),
                now,
            ));
        }
    }

    fn warn(&self, plan: &mut Plan, reason: &str, message: String) {
        plan.problem(self.template.key().to_string(), message.clone());
        plan.push(Action::report(
            ObjectRef::of(self.template),
            EventKind::Warning,
            reason,
            message,
        ));
    }
}

/// Writes an edit of labels and annotations to the state that was looked at.
fn push_edit(plan: &mut Plan, resource: ResourceType, object: &Object, edit: &MetadataEdit) {
    if !edit.is_empty() {
        let patch = edit.to_merge_patch();
        plan.push(Action::patch(resource, object, patch, Part::Object));
    }
}

/// What an edit adds to an object that has nothing.
fn added(edits: &std::collections::BTreeMap<&'static str, Option<String>>) -> Value {
    let added = edits
        .iter()
        .filter_map(|(key, value)| Some(((*key).to_owned(), Value::from(value.clone()?))));
    Value::Object(added.collect())
}

/// Merges fields into the patch at a name, unless there are none.
fn put(patch: &mut Value, name: &str, fields: Value) {
    let (Value::Object(patch), Value::Object(fields)) = (patch, fields) else {
        return;
    };
    if fields.is_empty() {
        return;
    }
    match patch.get_mut(name) {
        Some(Value::Object(present)) => present.extend(fields),
        _ => drop(patch.insert(name.to_owned(), Value::Object(fields))),
    }
}
