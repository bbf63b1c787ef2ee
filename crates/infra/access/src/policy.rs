//! What roles and bindings give to whom, compiled, and as current as the server's own cache.
//!
//! Roles are parsed when they change, not when somebody asks. A decision first looks whether anything changed since the
//! last one (four counters) and takes that in; so whoever was answered that a binding exists is judged by it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use imbl::OrdMap;
use object::Value;
use serve::cache::{self, Cache, Collection, Place};
use serve::call::User;
use serve::record::Record;
use tokio::sync::watch;

use crate::attempt::{Attempt, What};
use crate::names::{self, RBAC_GROUP};
use crate::rule::Rule;

/// Roles and bindings in force.
pub struct Policy {
    followed: [Followed; 4],
    /// Where each collection was last read, in the order of `followed`.
    places: Mutex<[Option<Place>; 4]>,
    current: ArcSwap<Rules>,
}

/// What an attempt comes to.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The user may do everything.
    Master,
    /// Everybody may ask whether the server is well.
    Probe,
    /// A binding gives it.
    Allowed(Grant),
    /// Nothing gives it. The text names roles that are bound and do not exist, if there are any.
    Denied(String),
}

/// Which binding gives something to whom.
#[derive(Clone, Debug)]
pub struct Grant {
    binding: Arc<Binding>,
    subject: usize,
}

/// Roles and bindings at one moment.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    cluster_roles: OrdMap<Box<str>, Arc<[Rule]>>,
    /// By `namespace/name`.
    roles: OrdMap<Box<str>, Arc<[Rule]>>,
    /// By `namespace/name`, or `name` for bindings that hold everywhere.
    bindings: OrdMap<Box<str>, Arc<Binding>>,
    users: OrdMap<Box<str>, Bound>,
    groups: OrdMap<Box<str>, Bound>,
}

/// The bindings of one subject by the namespace they hold in; empty for those that hold everywhere.
type Bound = OrdMap<Box<str>, Vec<Grant>>;

#[derive(Debug)]
struct Binding {
    namespace: Box<str>,
    name: Box<str>,
    role: RoleRef,
    subjects: Vec<Subject>,
}

#[derive(Debug)]
struct RoleRef {
    is_cluster_role: bool,
    name: Box<str>,
    /// Where [`Rules`] has it.
    key: Box<str>,
}

#[derive(Debug)]
struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    kind: Box<str>,
    name: Box<str>,
    /// Of a service account.
    namespace: Box<str>,
}

struct Followed {
    collection: Arc<Collection>,
    arrivals: watch::Receiver<u64>,
    seen: AtomicU64,
    sort: Sort,
}

#[derive(Clone, Copy)]
enum Sort {
    ClusterRole,
    Role,
    ClusterRoleBinding,
    RoleBinding,
}

/// How many changes are taken from a ring at once.
const BATCH: usize = 256;

impl Policy {
    /// Compiles what a cache has and follows it from then on.
    #[must_use]
    pub fn follow(cache: &Cache) -> Self {
        let followed = |plural: &str, sort: Sort| {
            let collection = cache.collection(&cache::name_of(RBAC_GROUP, plural));
            Followed {
                arrivals: collection.arrivals(),
                collection,
                // No counter begins here, so the first look reads everything.
                seen: AtomicU64::new(u64::MAX),
                sort,
            }
        };
        Self {
            followed: [
                followed("clusterroles", Sort::ClusterRole),
                followed("roles", Sort::Role),
                followed("clusterrolebindings", Sort::ClusterRoleBinding),
                followed("rolebindings", Sort::RoleBinding),
            ],
            places: Mutex::default(),
            current: ArcSwap::default(),
        }
    }

    /// The rules as of now.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        if self.followed.iter().any(Followed::has_news) {
            self.catch_up();
        }
        self.current.load_full()
    }

    /// Whether a user may do something.
    #[must_use]
    pub fn decide(&self, user: &User, attempt: &Attempt) -> Decision {
        if names::is_master(user) {
            return Decision::Master;
        }
        if self.followed.iter().any(Followed::has_news) {
            self.catch_up();
        }
        self.current.load().decide(user, attempt)
    }

    fn catch_up(&self) {
        // The lock guards plain data that is replaced whole; a panic leaves the old.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = Rules::clone(&self.current.load());
        for (followed, place) in self.followed.iter().zip(places.iter_mut()) {
            let count = *followed.arrivals.borrow();
            *place = Some(followed.take_in(&mut rules, *place));
            followed.seen.store(count, Ordering::Release);
        }
        self.current.store(Arc::new(rules));
    }
}

impl Followed {
    fn has_news(&self) -> bool {
        self.seen.load(Ordering::Acquire) != *self.arrivals.borrow()
    }

    fn take_in(&self, rules: &mut Rules, place: Option<Place>) -> Place {
        let Some(mut place) = place else {
            return self.begin(rules);
        };
        loop {
            let Ok((changes, next)) = self.collection.changes(place, BATCH) else {
                // The ring moved on without us.
                return self.begin(rules);
            };
            for change in &changes {
                match (&change.current, &change.previous) {
                    (Some(record), _) => rules.put(self.sort, record),
                    (None, Some(gone)) => rules.remove(self.sort, &key_of(gone)),
                    (None, None) => {}
                }
            }
            place = next;
            if changes.len() < BATCH {
                return place;
            }
        }
    }

    fn begin(&self, rules: &mut Rules) -> Place {
        let (snapshot, place) = self.collection.begin();
        for key in rules.keys(self.sort) {
            if !snapshot.objects.contains_key(&key) {
                rules.remove(self.sort, &key);
            }
        }
        for record in snapshot.objects.values() {
            rules.put(self.sort, record);
        }
        place
    }
}

impl Rules {
    /// Whether a user may do something. Members of the masters' group are not asked about here.
    #[must_use]
    pub fn decide(&self, user: &User, attempt: &Attempt) -> Decision {
        let namespace = match &attempt.what {
            What::Resource(target) => target.namespace.as_str(),
            What::Path(_) => "",
        };
        let mut missing = Vec::new();
        for grant in self.grants(user, namespace) {
            match self.role(grant) {
                Some(rules) => {
                    if rules.iter().any(|rule| rule.allows(attempt)) {
                        return Decision::Allowed(grant.clone());
                    }
                }
                None => missing.push(grant.binding.role.not_found()),
            }
        }
        missing.sort();
        missing.dedup();
        Decision::Denied(match missing.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            several => format!("RBAC: [{}]", several.join(", ")),
        })
    }

    /// Everything a user is given in a namespace, and everywhere.
    #[must_use]
    pub fn given(&self, user: &User, namespace: &str) -> Vec<Rule> {
        self.grants(user, namespace)
            .filter_map(|grant| self.role(grant))
            .flat_map(|rules| rules.iter().cloned())
            .collect()
    }

    /// The rules of a role somebody wants to bind; `None` if there is no such role. `namespace` is the binding's.
    #[must_use]
    pub fn of_role(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<[Rule]>> {
        match kind {
            "ClusterRole" => self.cluster_roles.get(name),
            _ => self.roles.get(&*cache::object_key(namespace, name)),
        }
    }

    fn grants<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Grant> + 'a {
        let groups = user
            .groups
            .iter()
            .filter_map(|group| self.groups.get(&**group));
        let bound = self.users.get(&*user.name).into_iter().chain(groups);
        bound.flat_map(move |bound| {
            let here = if namespace.is_empty() {
                None
            } else {
                bound.get(namespace)
            };
            bound.get("").into_iter().chain(here).flatten()
        })
    }

    fn role(&self, grant: &Grant) -> Option<&Arc<[Rule]>> {
        let role = &grant.binding.role;
        if role.is_cluster_role {
            self.cluster_roles.get(&*role.key)
        } else {
            self.roles.get(&*role.key)
        }
    }

    fn put(&mut self, sort: Sort, record: &Record) {
        let head = record.head();
        self.insert(sort, head.namespace, head.name, &record.value());
    }

    fn insert(&mut self, sort: Sort, namespace: &str, name: &str, object: &Value) {
        let key: Box<str> = cache::object_key(namespace, name).into();
        match sort {
            Sort::ClusterRole => {
                drop(self.cluster_roles.insert(key, Rule::all_of(object).into()));
            }
            Sort::Role => drop(self.roles.insert(key, Rule::all_of(object).into())),
            Sort::ClusterRoleBinding | Sort::RoleBinding => {
                self.unbind(&key);
                self.bind(key, Binding::read(namespace, name, object));
            }
        }
    }

    fn remove(&mut self, sort: Sort, key: &str) {
        match sort {
            Sort::ClusterRole => drop(self.cluster_roles.remove(key)),
            Sort::Role => drop(self.roles.remove(key)),
            Sort::ClusterRoleBinding | Sort::RoleBinding => self.unbind(key),
        }
    }

    /// Everything known of one sort. Bindings share a map: a key with a slash is of a namespace, and no name has one.
    fn keys(&self, sort: Sort) -> Vec<Box<str>> {
        let bindings = |namespaced: bool| {
            let keys = self.bindings.keys();
            keys.filter(|key| key.contains('/') == namespaced)
                .cloned()
                .collect()
        };
        match sort {
            Sort::ClusterRole => self.cluster_roles.keys().cloned().collect(),
            Sort::Role => self.roles.keys().cloned().collect(),
            Sort::ClusterRoleBinding => bindings(false),
            Sort::RoleBinding => bindings(true),
        }
    }

    fn bind(&mut self, key: Box<str>, binding: Binding) {
        let binding = Arc::new(binding);
        for (place, subject) in binding.subjects.iter().enumerate() {
            let bound = self.side(subject).entry(subject.bound_name()).or_default();
            bound
                .entry(binding.namespace.clone())
                .or_default()
                .push(Grant {
                    binding: Arc::clone(&binding),
                    subject: place,
                });
        }
        self.bindings.insert(key, binding);
    }

    fn unbind(&mut self, key: &str) {
        let Some(binding) = self.bindings.remove(key) else {
            return;
        };
        for subject in &binding.subjects {
            let name = subject.bound_name();
            let side = self.side(subject);
            let Some(bound) = side.get_mut(&name) else {
                continue;
            };
            if let Some(grants) = bound.get_mut(&binding.namespace) {
                grants.retain(|grant| !Arc::ptr_eq(&grant.binding, &binding));
                if grants.is_empty() {
                    bound.remove(&binding.namespace);
                }
            }
            if bound.is_empty() {
                side.remove(&name);
            }
        }
    }

    fn side(&mut self, subject: &Subject) -> &mut OrdMap<Box<str>, Bound> {
        if &*subject.kind == "Group" {
            &mut self.groups
        } else {
            &mut self.users
        }
    }
}

impl Binding {
    fn read(namespace: &str, name: &str, value: &Value) -> Self {
        let text = |value: &Value, field: &str| -> Box<str> {
            value
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .into()
        };
        let role = value.get("roleRef").unwrap_or(&Value::Null);
        let is_cluster_role = &*text(role, "kind") == "ClusterRole";
        let role_name = text(role, "name");
        let key = if is_cluster_role {
            role_name.clone()
        } else {
            cache::object_key(namespace, &role_name).into()
        };
        let subjects = value.get("subjects").and_then(Value::as_array);
        let subjects = subjects.into_iter().flatten().map(|subject| {
            let own = text(subject, "namespace");
            Subject {
                kind: text(subject, "kind"),
                name: text(subject, "name"),
                namespace: if own.is_empty() {
                    namespace.into()
                } else {
                    own
                },
            }
        });
        Self {
            namespace: namespace.into(),
            name: name.into(),
            role: RoleRef {
                is_cluster_role,
                name: role_name,
                key,
            },
            subjects: subjects.collect(),
        }
    }
}

impl Subject {
    /// The name it has among users or groups.
    fn bound_name(&self) -> Box<str> {
        if &*self.kind == "ServiceAccount" {
            return names::service_account_user(&self.namespace, &self.name).into();
        }
        self.name.clone()
    }
}

impl RoleRef {
    fn kind(&self) -> &'static str {
        if self.is_cluster_role {
            "ClusterRole"
        } else {
            "Role"
        }
    }

    fn not_found(&self) -> String {
        format!(
            "{}.{RBAC_GROUP} {:?} not found",
            self.kind().to_ascii_lowercase(),
            self.name
        )
    }
}

impl Decision {
    /// Whether it may be done.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        !matches!(self, Self::Denied(_))
    }

    /// Why, as reviews and the audit log say it.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Master | Self::Probe => String::new(),
            Self::Allowed(grant) => format!("RBAC: allowed by {grant}"),
            Self::Denied(why) => why.clone(),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = &self.binding;
        let (kind, name) = if binding.namespace.is_empty() {
            ("ClusterRoleBinding", binding.name.to_string())
        } else {
            (
                "RoleBinding",
                format!("{}/{}", binding.name, binding.namespace),
            )
        };
        write!(
            f,
            "{kind} {name:?} of {} {:?} to ",
            binding.role.kind(),
            binding.role.name
        )?;
        let Some(subject) = binding.subjects.get(self.subject) else {
            return f.write_str("nobody");
        };
        match &*subject.kind {
            "ServiceAccount" => write!(
                f,
                "ServiceAccount \"{}/{}\"",
                subject.name, subject.namespace
            ),
            kind => write!(f, "{kind} {:?}", subject.name),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.current.load();
        f.debug_struct("Policy")
            .field("roles", &(rules.roles.len() + rules.cluster_roles.len()))
            .field("bindings", &rules.bindings.len())
            .finish_non_exhaustive()
    }
}

fn key_of(record: &Record) -> Box<str> {
    record.key().into()
}

#[cfg(test)]
mod tests;
