//! What the engine knows: every followed object, parsed once, with the indexes its plans need.
//!
//! The mirror is plain data that a test can fill; `follow` fills it from a server's cache. It never runs ahead of the
//! cache, and the cache has every write of the engine by the time the write is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use object::Object;

use crate::engine::kind::Kind;
use crate::read;

/// Every followed object.
#[derive(Default)]
pub(crate) struct Mirror {
    shelves: BTreeMap<Kind, BTreeMap<Arc<str>, Arc<Object>>>,
    /// Objects by the uid of the owner that controls them.
    owned: BTreeMap<Box<str>, BTreeSet<(Kind, Arc<str>)>>,
    /// What might be controlled and is not.
    uncontrolled: BTreeSet<(Kind, Arc<str>)>,
    /// Pods by the node they are bound to; those without one under the empty name.
    on_node: BTreeMap<Box<str>, BTreeSet<Arc<str>>>,
}

/// Kinds whose objects are taken by those that select them.
const MAY_BE_CONTROLLED: [Kind; 3] = [Kind::Pod, Kind::ReplicaSet, Kind::ControllerRevision];

/// One object as it was and is.
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) key: Arc<str>,
    pub(crate) before: Option<Arc<Object>>,
    pub(crate) after: Option<Arc<Object>>,
}

impl Seen {
    /// The object now, or as it was last.
    pub(crate) fn either(&self) -> Option<&Object> {
        self.after.as_deref().or(self.before.as_deref())
    }

    /// The object in all states at hand.
    pub(crate) fn both(&self) -> impl Iterator<Item = &Object> {
        self.before
            .as_deref()
            .into_iter()
            .chain(self.after.as_deref())
    }
}

impl Mirror {
    /// Notes what an object is now, `None` when it is gone.
    pub(crate) fn put(&mut self, kind: Kind, key: Arc<str>, after: Option<Arc<Object>>) -> Seen {
        let shelf = self.shelves.entry(kind).or_default();
        let before = match &after {
            Some(object) => shelf.insert(Arc::clone(&key), Arc::clone(object)),
            None => shelf.remove(&key),
        };
        if let Some(before) = &before {
            self.forget(kind, &key, before);
        }
        if let Some(after) = &after {
            self.remember(kind, &key, after);
        }
        Seen {
            kind,
            key,
            before,
            after,
        }
    }

    /// One object by its key.
    pub(crate) fn find(&self, kind: Kind, key: &str) -> Option<&Arc<Object>> {
        self.shelves.get(&kind)?.get(key)
    }

    /// All objects of a kind, by key.
    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = (&Arc<str>, &Arc<Object>)> {
        self.shelves.get(&kind).into_iter().flatten()
    }

    /// All objects of a kind in a namespace.
    pub(crate) fn within(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        let first = format!("{namespace}/");
        let end = format!("{namespace}0"); // '0' is the character after '/'.
        self.shelves.get(&kind).into_iter().flat_map(move |shelf| {
            let bounds = (
                Bound::Included(first.as_str()),
                Bound::Excluded(end.as_str()),
            );
            shelf
                .range::<str, _>(bounds)
                .map(|(_, object)| object)
                .collect::<Vec<_>>()
        })
    }

    /// Objects of a kind that an owner controls.
    pub(crate) fn owned(&self, uid: &str, kind: Kind) -> Vec<&Arc<Object>> {
        let keys = self.owned.get(uid).into_iter().flatten();
        keys.filter(|(of, _)| *of == kind)
            .filter_map(|(_, key)| self.find(kind, key))
            .collect()
    }

    /// Objects of a kind in a namespace that nobody controls.
    pub(crate) fn uncontrolled(&self, kind: Kind, namespace: &str) -> Vec<&Arc<Object>> {
        let first = (kind, Arc::from(format!("{namespace}/")));
        let end = (kind, Arc::from(format!("{namespace}0"))); // '0' is the character after '/'.
        let keys = self.uncontrolled.range(first..end);
        keys.filter_map(|(_, key)| self.find(kind, key)).collect()
    }

    /// The pods of a node; those without a node under the empty name.
    pub(crate) fn pods_on(&self, node: &str) -> impl Iterator<Item = (&Arc<str>, &Arc<Object>)> {
        let keys = self.on_node.get(node).into_iter().flatten();
        keys.filter_map(|key| Some((key, self.find(Kind::Pod, key)?)))
    }

    fn remember(&mut self, kind: Kind, key: &Arc<str>, object: &Object) {
        if let Some(owner) = read::controller_uid(object) {
            self.owned
                .entry(owner.into())
                .or_default()
                .insert((kind, Arc::clone(key)));
        } else if MAY_BE_CONTROLLED.contains(&kind) {
            self.uncontrolled.insert((kind, Arc::clone(key)));
        }
        if kind == Kind::Pod {
            self.on_node
                .entry(read::node_of(object).into())
                .or_default()
                .insert(Arc::clone(key));
        }
    }

    fn forget(&mut self, kind: Kind, key: &Arc<str>, object: &Object) {
        if MAY_BE_CONTROLLED.contains(&kind) {
            self.uncontrolled.remove(&(kind, Arc::clone(key)));
        }
        if let Some(owner) = read::controller_uid(object)
            && let Some(owned) = self.owned.get_mut(owner)
        {
            owned.remove(&(kind, Arc::clone(key)));
            if owned.is_empty() {
                self.owned.remove(owner);
            }
        }
        if kind == Kind::Pod {
            let node = read::node_of(object);
            if let Some(pods) = self.on_node.get_mut(node) {
                pods.remove(key);
                if pods.is_empty() {
                    self.on_node.remove(node);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: &str, owner: &str) -> Arc<Object> {
        let value = json!({
            "metadata": {"name": "p", "namespace": "d", "ownerReferences": [{"uid": owner, "controller": true}]},
            "spec": {"nodeName": node},
        });
        Arc::new(Object::from_value(value).unwrap())
    }

    #[test]
    fn indexes_follow_every_change() {
        let mut mirror = Mirror::default();
        let at = |mirror: &Mirror| {
            (
                mirror.pods_on("").count(),
                mirror.pods_on("n").count(),
                mirror.owned("o", Kind::Pod).len(),
                mirror.within(Kind::Pod, "d").count(),
                mirror.within(Kind::Pod, "").count(),
            )
        };
        mirror.put(Kind::Pod, "d/p".into(), Some(pod("", "o")));
        assert_eq!(at(&mirror), (1, 0, 1, 1, 0));
        let seen = mirror.put(Kind::Pod, "d/p".into(), Some(pod("n", "o")));
        assert_eq!(seen.both().count(), 2);
        assert_eq!(at(&mirror), (0, 1, 1, 1, 0));
        mirror.put(Kind::Pod, "d/p".into(), None);
        assert_eq!(at(&mirror), (0, 0, 0, 0, 0));
    }
}
