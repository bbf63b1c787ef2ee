//! Templates whose binding is another's: of those that spell the name of a binding alike, one has it. When it goes, the
//! others are looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use api::names;
use object::ObjectKey;

use crate::templates::TemplateKey;

/// Who waits for which binding. Empty after a restart: every template is then looked at once.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    waiting: Mutex<BTreeMap<ObjectKey, BTreeSet<TemplateKey>>>,
}

impl Rivals {
    /// Notes whether the binding of a template is another's.
    pub(super) fn note(&self, template: &TemplateKey, is_another: bool) {
        let binding = binding_of(template);
        let mut waiting = self.lock();
        if is_another {
            waiting.entry(binding).or_default().insert(template.clone());
            return;
        }
        let Some(others) = waiting.get_mut(&binding) else {
            return;
        };
        others.remove(template);
        if others.is_empty() {
            waiting.remove(&binding);
        }
    }

    /// The templates that wait for a binding.
    pub(super) fn of(&self, binding: &ObjectKey) -> Vec<TemplateKey> {
        let waiting = self.lock();
        waiting
            .get(binding)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, BTreeSet<TemplateKey>>> {
        // What is behind it is whole between any two lines.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn binding_of(template: &TemplateKey) -> ObjectKey {
    let name = names::binding_name(&template.kind.kind, &template.key.name);
    ObjectKey::namespaced(template.key.namespace.as_str(), name)
}

#[cfg(test)]
mod tests {
    use object::GroupKind;

    use super::*;

    #[test]
    fn those_who_spell_the_name_alike_wait_for_one_binding() {
        let rivals = Rivals::default();
        let role = |name: &str| TemplateKey {
            kind: GroupKind::new("rbac.authorization.k8s.io", "ClusterRole"),
            key: ObjectKey::cluster(name),
        };
        let binding = ObjectKey::cluster("a.b-clusterrole");
        for name in ["a.b", "A.b", "other"] {
            rivals.note(&role(name), name != "other");
        }
        assert_eq!(rivals.of(&binding), [role("A.b"), role("a.b")]);
        assert_eq!(rivals.of(&ObjectKey::cluster("other-clusterrole")), []);
        for name in ["a.b", "A.b"] {
            rivals.note(&role(name), false);
        }
        assert_eq!(rivals.of(&binding), []);
        assert!(rivals.lock().is_empty());
    }
}
