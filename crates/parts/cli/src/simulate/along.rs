//! What comes along: objects that templates refer to go where those templates go, if their policies say so.

use std::collections::BTreeMap;

use api::config::DependentObjectReference;
use api::well_known::feature_gates::Gate;
use api::work::v1alpha2::ResourceBindingSpec;
use binding::{dependencies, terms};
use object::{Object, ObjectKey};
use policy::exemption::is_server_owned;

use crate::picture::{Picture, Placed};

/// Who needs what, and where.
#[derive(Debug, Default)]
pub(super) struct Along {
    needs: Vec<Need>,
    /// References, by the kind and the namespace of what they mean: each with the place of the need it is of.
    references: BTreeMap<(String, String), Vec<(usize, DependentObjectReference)>>,
}

/// A template that needs others beside it.
#[derive(Debug)]
pub(super) struct Need {
    /// The template, in words.
    pub(super) by: String,
    /// Its binding.
    key: ObjectKey,
    /// What that says, with the clusters it goes to.
    spec: ResourceBindingSpec,
}

/// What a template refers to that can come along; nothing if its kind has no rules for that.
pub(super) fn references(picture: &Picture, template: &Object) -> Vec<DependentObjectReference> {
    let home = terms::key(template).namespace;
    // What has no namespace brings nothing along: bindings of what it refers to have one.
    if home.is_empty() {
        return Vec::new();
    }
    let found = picture.interpreter.dependencies(template);
    let mut found = found.unwrap_or_default();
    found.retain(|reference| dependencies::is_at_home(reference, &home));
    found
}

impl Along {
    /// Takes note of what a template needs in the clusters it would go to.
    pub(super) fn note(&mut self, picture: &Picture, template: &Object, placed: &Placed) {
        let gates = &picture.settings.gates;
        if !gates.is_enabled(Gate::PropagateDeps) || !dependencies::is_referrer(&placed.spec) {
            return;
        }
        let place = self.needs.len();
        for reference in references(picture, template) {
            let kind = (reference.kind.clone(), reference.namespace.clone());
            let known = self.references.entry(kind).or_default();
            known.push((place, reference));
        }
        self.needs.push(Need {
            by: format!("{} {}", template.kind(), template.key()),
            key: terms::key(template),
            spec: placed.spec.clone(),
        });
    }

    /// Who needs a template, by name; nobody, if every server makes its own.
    pub(super) fn needs_of(&self, template: &Object) -> Vec<&Need> {
        if is_server_owned(template) {
            return Vec::new();
        }
        let kind = template.group_version_kind();
        let place = (kind.kind.clone(), template.namespace().to_owned());
        let known = self.references.get(&place).into_iter().flatten();
        let mut needs: Vec<&Need> = known
            .filter_map(|(place, reference)| Some((self.needs.get(*place)?, reference)))
            .filter(|(need, reference)| {
                dependencies::means(reference, &need.key.namespace, &kind, template)
            })
            .map(|(need, _)| need)
            .collect();
        needs.sort_by(|one, other| one.key.cmp(&other.key));
        needs.dedup_by(|one, other| one.key == other.key);
        needs
    }
}

/// What the binding of a template says that only comes along with others.
pub(super) fn spec(
    template: &Object,
    existing: Option<&ResourceBindingSpec>,
    needs: &[&Need],
) -> ResourceBindingSpec {
    let mut spec = existing.cloned().unwrap_or_else(|| ResourceBindingSpec {
        resource: dependencies::resource(template),
        ..ResourceBindingSpec::default()
    });
    let snapshots = needs
        .iter()
        .map(|need| dependencies::snapshot(&need.key, &need.spec));
    spec.required_by = snapshots.collect();
    // A binding that has a placement has or had a policy of its own, which says the rest.
    if spec.placement.is_none() {
        let wishes = dependencies::wishes(needs.iter().map(|need| &need.spec));
        spec.conflict_resolution = wishes.conflict_resolution;
        spec.preserve_resources_on_deletion = wishes.preserve;
    }
    spec
}
