//! A kind that is followed: in the version the server likes best, and beside it in those that somebody names.
//!
//! A policy means the version that it names: that is what members are sent, and what rules of interpretation are written for.
//! Most name the one the server likes best, so the others are followed from when they are first asked for, as long as they
//! are served.

use std::{collections::BTreeMap, sync::Arc};

use client::{Cache, Caches, Discovered, Discovery, Scope, Subscription};
use object::{GroupKind, GroupVersionKind, Object, ObjectKey, ResourceType};
use policy::Holder;

use super::{Found, Listener, Unlisted};

/// What a resource must offer to be propagated.
const VERBS: [&str; 3] = ["delete", "list", "watch"];

/// The index of templates by the permanent id of the policy that holds them.
pub(super) const BY_POLICY: &str = "policy";

/// A kind that is served.
pub(super) struct Followed {
    /// In the version the server likes best.
    pub(super) main: InVersion,
    /// Its other versions, and in which of them it is followed too.
    others: BTreeMap<String, Other>,
}

struct Other {
    resource: Arc<ResourceType>,
    has_status: bool,
    followed: Option<InVersion>,
}

/// A kind in one version.
pub(super) struct InVersion {
    pub(super) resource: Arc<ResourceType>,
    pub(super) other_versions: Arc<Vec<String>>,
    has_status: bool,
    pub(super) cache: Cache,
    subscriptions: Vec<Subscription>,
}

impl InVersion {
    fn follow(caches: &Caches, resource: Arc<ResourceType>, has_status: bool) -> Self {
        let cache = caches.follow(&resource, Scope::all());
        cache.index_by(BY_POLICY, holders);
        Self {
            resource,
            other_versions: Arc::default(),
            has_status,
            cache,
            subscriptions: Vec::new(),
        }
    }

    fn version(&self) -> &str {
        &self.resource.kind.version
    }

    fn find(&self, key: &ObjectKey) -> Option<Found> {
        Some(Found {
            resource: Arc::clone(&self.resource),
            other_versions: Arc::clone(&self.other_versions),
            has_status: self.has_status,
            object: self.cache.get(key)?,
        })
    }
}

impl Followed {
    /// A kind as discovery knows it by now, `found` in the version the server likes best. What it was followed in `before`
    /// goes on as long as it may still be served: whoever named that version means it.
    pub(super) fn assemble(
        found: &Discovered,
        discovery: &Discovery,
        before: Option<Self>,
        caches: &Caches,
    ) -> Self {
        let in_version = |version: &str| GroupVersionKind {
            version: version.to_owned(),
            ..found.resource.kind.clone()
        };
        let may_be_served = |version: &str| !discovery.lacks(&in_version(version));
        // What could not be read for once is no reason to change the version.
        let unread = before
            .as_ref()
            .map(|before| before.main.version().to_owned());
        let unread = unread.filter(|version| {
            may_be_served(version) && discovery.find(&in_version(version)).is_none()
        });
        let mut known: BTreeMap<String, InVersion> = BTreeMap::new();
        if let Some(before) = before {
            let others = before.others.into_values();
            let others = others.filter_map(|other| other.followed);
            let all = std::iter::once(before.main).chain(others);
            known.extend(all.map(|one| (one.version().to_owned(), one)));
        }
        let mut take = |found: &Discovered| {
            let known = known.remove(&found.resource.kind.version);
            let known = known.filter(|known| *known.resource == found.resource);
            known.map(|known| InVersion {
                has_status: has_status(found),
                ..known
            })
        };
        let begin = |found: &Discovered| {
            let resource = Arc::new(found.resource.clone());
            InVersion::follow(caches, resource, has_status(found))
        };
        let mut others: BTreeMap<String, Other> = BTreeMap::new();
        let mut main = None;
        for one in versions(discovery, &found.resource.kind) {
            let version = one.resource.kind.version.clone();
            if unread.is_none() && version == found.resource.kind.version {
                main = Some(take(one).unwrap_or_else(|| begin(one)));
                continue;
            }
            let other = Other {
                resource: Arc::new(one.resource.clone()),
                has_status: has_status(one),
                followed: take(one),
            };
            others.insert(version, other);
        }
        for (version, one) in known {
            if unread.as_ref() == Some(&version) {
                main = Some(one);
            } else if may_be_served(&version) && !others.contains_key(&version) {
                let other = Other {
                    resource: Arc::clone(&one.resource),
                    has_status: one.has_status,
                    followed: Some(one),
                };
                others.insert(version, other);
            }
        }
        let mut assembled = Self {
            main: main.unwrap_or_else(|| begin(found)),
            others,
        };
        assembled.tell_versions();
        assembled
    }

    /// Lets everything that is found say which other versions there are.
    fn tell_versions(&mut self) {
        let all: Vec<String> = self.versions().map(str::to_owned).collect();
        for one in self.all_mut() {
            let rest = all.iter().filter(|version| *version != one.version());
            one.other_versions = Arc::new(rest.cloned().collect());
        }
    }

    /// The versions in which the kind is served, the one the server likes best first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &str> {
        let others = self.others.keys().map(String::as_str);
        std::iter::once(self.main.version()).chain(others)
    }

    /// The same, and all of its objects in the one that the server likes best.
    pub(super) fn view(&self) -> (Vec<String>, Cache) {
        let versions = self.versions().map(str::to_owned);
        (versions.collect(), self.main.cache.clone())
    }

    pub(super) fn has_version(&self, version: &str) -> bool {
        self.versions().any(|served| served == version)
    }

    /// Whether there is nothing to begin for whoever names a version.
    pub(super) fn is_followed_in(&self, version: &str) -> bool {
        let other = self.others.get(version);
        other.is_none_or(|other| other.followed.is_some())
    }

    /// Why it is not known which objects there are, or what they are in a version.
    pub(super) fn unlisted(&self, version: &str) -> Option<Unlisted> {
        let mut unlisted = self.all_unlisted();
        unlisted.find(|unlisted| unlisted.is_liked_best || unlisted.kind.version == version)
    }

    /// All that cannot be listed of it.
    pub(super) fn all_unlisted(&self) -> impl Iterator<Item = Unlisted> {
        let is_liked_best = |one: &InVersion| std::ptr::eq(one, &self.main);
        self.all()
            .filter_map(move |one| Unlisted::of(one, is_liked_best(one)))
    }

    /// One of its objects, in the version the server likes best.
    pub(super) fn find(&self, key: &ObjectKey) -> Option<Found> {
        self.main.find(key)
    }

    /// One of its objects in a version; in the one the server likes best if it is not served in that.
    pub(super) fn find_in(&self, version: &str, key: &ObjectKey) -> Option<Found> {
        match self.others.get(version) {
            Some(other) => other.followed.as_ref()?.find(key),
            None => self.main.find(key),
        }
    }

    /// Follows the kind in a version too, if it is served in it.
    pub(super) fn begin(&mut self, version: &str, caches: &Caches) {
        let other = self.others.get_mut(version);
        if let Some(other) = other.filter(|other| other.followed.is_none()) {
            let resource = Arc::clone(&other.resource);
            other.followed = Some(InVersion::follow(caches, resource, other.has_status));
            self.tell_versions();
        }
    }

    /// Its objects that nobody has been told of yet.
    pub(super) fn untold(&self) -> Vec<Cache> {
        let untold = self.all().filter(|one| one.subscriptions.is_empty());
        untold.map(|one| one.cache.clone()).collect()
    }

    /// Keeps what tells of the objects in a cache.
    pub(super) fn keep(&mut self, cache: &Cache, subscriptions: Vec<Subscription>) {
        let version = &cache.resource().kind.version;
        if let Some(one) = self.all_mut().find(|one| one.version() == version) {
            one.subscriptions.extend(subscriptions);
        }
    }

    /// Everything that is followed of it.
    pub(super) fn all(&self) -> impl Iterator<Item = &InVersion> {
        let others = self.others.values();
        std::iter::once(&self.main).chain(others.filter_map(|other| other.followed.as_ref()))
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut InVersion> {
        let others = self.others.values_mut();
        std::iter::once(&mut self.main).chain(others.filter_map(|other| other.followed.as_mut()))
    }
}

/// Tells a listener of every object of a kind that is in a cache, and of each change there.
pub(super) fn subscribe(cache: &Cache, kind: &GroupKind, listener: &Listener) -> Subscription {
    let (kind, listener) = (kind.clone(), Arc::clone(listener));
    cache.on_change(move |change| listener(&kind, change))
}

/// The permanent id of the policy that holds a template.
fn holders(template: &Object) -> Vec<String> {
    Holder::of(template)
        .map(|holder| holder.permanent_id)
        .into_iter()
        .collect()
}

/// A kind in all its versions, the one the server likes best first.
fn versions<'d>(
    discovery: &'d Discovery,
    kind: &GroupVersionKind,
) -> impl Iterator<Item = &'d Discovered> + use<'d> {
    let kind = kind.group_kind();
    let all = discovery.resources.iter();
    all.filter(move |found| found.resource.kind.group_kind() == kind && can_be_followed(found))
}

/// Whether objects can be propagated in the version that was found.
pub(super) fn can_be_followed(found: &Discovered) -> bool {
    VERBS.iter().all(|verb| found.can(verb))
}

fn has_status(found: &Discovered) -> bool {
    found.subresources.iter().any(|below| below == "status")
}
