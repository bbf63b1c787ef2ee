//! What comes along: objects that templates refer to go where those templates go, if their policies say so.

use std::collections::BTreeMap;

use api::config::DependentObjectReference;
use api::well_known::feature_gates::Gate;
use api::work::v1alpha2::{BindingSnapshot, ObjectReference, ResourceBindingSpec};
use binding::{targets, terms};
use object::{Object, ObjectKey};
use policy::exemption::is_server_owned;

use crate::picture::{Picture, Placed};

/// Who is needed, by whom and where.
#[derive(Debug, Default)]
pub(super) struct Along {
    needed: BTreeMap<(String, ObjectKey), Vec<Need>>,
}

/// A template that needs another one beside it.
#[derive(Debug)]
pub(super) struct Need {
    /// The template, in words.
    pub(super) by: String,
    /// Its binding, with the clusters it goes to.
    binding: BindingSnapshot,
}

/// What a template refers to by name; nothing if its kind has no rules for that.
pub(super) fn references(picture: &Picture, template: &Object) -> Vec<DependentObjectReference> {
    let found = picture.interpreter.dependencies(template);
    let mut found = found.unwrap_or_default();
    found.retain(|reference| !reference.name.is_empty());
    found
}

impl Along {
    /// Takes note of what a template needs in the clusters it would go to.
    pub(super) fn note(&mut self, picture: &Picture, template: &Object, placed: &Placed) {
        let gates = &picture.settings.gates;
        if !placed.spec.propagate_deps || !gates.is_enabled(Gate::PropagateDeps) {
            return;
        }
        let key = terms::key(template);
        let clusters: Vec<_> = targets::targets(&placed.spec)
            .into_iter()
            .cloned()
            .collect();
        for reference in references(picture, template) {
            let name = ObjectKey::namespaced(&reference.namespace, &reference.name);
            self.needed
                .entry((reference.kind, name))
                .or_default()
                .push(Need {
                    by: format!("{} {}", template.kind(), template.key()),
                    binding: BindingSnapshot {
                        namespace: key.namespace.clone(),
                        name: key.name.clone(),
                        clusters: clusters.clone(),
                    },
                });
        }
    }

    /// Who needs a template; nobody, if every server makes its own.
    pub(super) fn needs_of(&self, template: &Object) -> &[Need] {
        if is_server_owned(template) {
            return &[];
        }
        let key = (template.kind().to_owned(), template.key());
        self.needed.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What the binding of a template says that only comes along with others.
pub(super) fn spec(
    template: &Object,
    existing: Option<&ResourceBindingSpec>,
    needs: &[Need],
) -> ResourceBindingSpec {
    let mut spec = existing.cloned().unwrap_or_else(|| ResourceBindingSpec {
        resource: ObjectReference {
            api_version: template.api_version().to_owned(),
            kind: template.kind().to_owned(),
            namespace: template.namespace().to_owned(),
            name: template.name().to_owned(),
            uid: template.uid().to_owned(),
            resource_version: template.resource_version().to_owned(),
        },
        ..ResourceBindingSpec::default()
    });
    spec.required_by = needs.iter().map(|need| need.binding.clone()).collect();
    spec
}
