//! What members serve, held once for all that serve the same.
//!
//! A fleet is mostly of one make: a thousand members with the same hundred kinds need one list of them, not a thousand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use client::Discovery;

/// The answers to discovery that some member has given and that are still in use.
#[derive(Debug, Default)]
pub(crate) struct Atlas {
    known: Mutex<HashMap<u64, Vec<Weak<Discovery>>>>,
}

impl Atlas {
    /// The answer as it is held already, or from now on.
    pub(crate) fn hold(&self, found: Discovery) -> Arc<Discovery> {
        let place = fingerprint(&found);
        // Nothing that runs under the lock leaves it half changed.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, held| {
            held.retain(|held| held.strong_count() > 0);
            !held.is_empty()
        });
        let held = known.entry(place).or_default();
        let same = held
            .iter()
            .filter_map(Weak::upgrade)
            .find(|held| **held == found);
        if let Some(same) = same {
            return same;
        }
        let found = Arc::new(found);
        held.push(Arc::downgrade(&found));
        found
    }
}

/// Tells most answers apart that differ; those it does not are compared.
fn fingerprint(found: &Discovery) -> u64 {
    let mut hasher = DefaultHasher::new();
    for found in &found.resources {
        let resource = &found.resource;
        (
            &resource.kind.group,
            &resource.kind.version,
            &resource.plural,
        )
            .hash(&mut hasher);
    }
    found.failed.len().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use client::Discovered;
    use object::ResourceType;

    use super::*;

    fn serving(plurals: &[&str]) -> Discovery {
        let discovered = |plural: &&str| Discovered {
            resource: ResourceType::namespaced("", "v1", "Kind", plural),
            ..Discovered::default()
        };
        Discovery {
            resources: plurals.iter().map(discovered).collect(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn what_many_serve_is_held_once_and_let_go_with_the_last() {
        let atlas = Atlas::default();
        let first = atlas.hold(serving(&["pods", "nodes"]));
        let same = atlas.hold(serving(&["pods", "nodes"]));
        let other = atlas.hold(serving(&["pods"]));
        assert!(Arc::ptr_eq(&first, &same) && !Arc::ptr_eq(&first, &other));
        // Alike by name and not in what can be done.
        let mut verbs = serving(&["pods"]);
        verbs.resources[0].verbs.push("get".to_owned());
        assert!(!Arc::ptr_eq(&atlas.hold(verbs), &other));
        drop((first, same, other));
        drop(atlas.hold(serving(&["events"])));
        assert_eq!(atlas.known.lock().unwrap().len(), 1);
    }
}
