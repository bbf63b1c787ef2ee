//! Resource quotas: how much a namespace may use, counted over the objects that are in it.
//!
//! Upstream counts in the status of the quota and writes that before each object. Here the objects themselves are
//! counted, from the cache and from what was let through and has not arrived there: nothing is written, a quota holds
//! from the moment it exists, and an object that was refused after all is not paid for. The status only shows the sum.

mod book;
mod flight;
mod rule;
mod scopes;
mod usage;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use object::Value;
use object::time::Time;
use serve::cache::{self, Cache};
use serve::call::{Admission, Call, Verdict, at_once};
use serve::server::Surroundings;
use serve::status::{Status, Subject};

use crate::amounts::{self, Amounts};

use book::Book;
use flight::Flights;

pub use rule::Quota;
pub use usage::{Measured, measure, resource_of};

/// Refuses objects for which there is no room.
pub struct Quotas {
    /// Where quotas and objects are found; set once the server is open, before it answers anybody.
    cache: OnceLock<Arc<Cache>>,
    surroundings: Arc<dyn Surroundings>,
    /// By namespace; a book lasts as long as its namespace has a quota that is about its resource.
    ledgers: Mutex<HashMap<String, Arc<Mutex<Ledger>>>>,
}

/// What is known of one namespace.
#[derive(Default)]
struct Ledger {
    /// By the name of the collection.
    books: HashMap<String, Book>,
    /// What was let through and may not be in the cache yet.
    flights: Flights,
}

impl Quotas {
    /// Quotas by a server's time.
    #[must_use]
    pub fn new(surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            cache: OnceLock::new(),
            surroundings,
            ledgers: Mutex::default(),
        }
    }

    /// Takes quotas and objects from a server's cache.
    pub fn look_into(&self, cache: &Arc<Cache>) {
        drop(self.cache.set(Arc::clone(cache)));
    }

    /// What the status of a quota has to say is used.
    #[must_use]
    pub fn used(&self, namespace: &str, quota: &Quota) -> Amounts {
        let mut used = Amounts::new();
        let Some(cache) = self.cache.get() else {
            return used;
        };
        let now = self.surroundings.now();
        let ledger = self.ledger(namespace);
        let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let mut resources: Vec<_> = quota
            .hard
            .keys()
            .filter_map(|name| usage::resource_of(name))
            .collect();
        resources.sort_unstable();
        resources.dedup();
        for (group, resource) in resources {
            let book = ledger.book(cache, group, resource, namespace, now);
            amounts::add(&mut used, book.used(&quota.scopes));
        }
        quota.used_of(&used)
    }

    fn judge(&self, call: &Call, old: Option<&Value>, new: &Value) -> Result<(), Status> {
        let target = &call.target;
        let Some(cache) = self.cache.get().filter(|_| is_counted(call, old)) else {
            return Ok(());
        };
        let (group, resource) = (target.group.as_str(), target.resource.as_str());
        let mut quotas = quotas_in(cache, &target.namespace);
        quotas.retain(|quota| quota.concerns(group, resource));
        if quotas.is_empty() {
            return Ok(());
        }
        let name = new.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let forbid = |why: String| {
            let subject = Subject {
                name,
                ..call.subject()
            };
            Status::forbidden(subject, &why)
        };
        let now = self.surroundings.now();
        let after = measure(group, resource, new, now);
        let before = old.map(|old| measure(group, resource, old, now));
        let ledger = self.ledger(&target.namespace);
        let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let Ledger { books, flights } = &mut *ledger;
        let collection_name = cache::name_of(group, resource);
        let collection = cache.collection(&collection_name);
        let book = books
            .entry(collection_name.clone())
            .or_insert_with(|| Book::new(group, resource, &target.namespace));
        book.catch_up(&collection, now);
        flights.land(&collection_name, &collection, book, now);
        for quota in &quotas {
            if !quota.covers(&after) {
                continue;
            }
            if (group, resource) == ("", "pods") {
                quota.check_pod(new).map_err(forbid)?;
            }
            let mut used = book.used(&quota.scopes).clone();
            flights.add_to(&mut used, &collection_name, book, quota);
            let before = before.as_ref().filter(|before| quota.covers(before));
            quota.check(before, &after, &used).map_err(forbid)?;
        }
        if !call.options.dry_run {
            let key = cache::object_key(&target.namespace, name);
            flights.depart(collection_name, key, old, new, after, now);
        }
        Ok(())
    }

    fn ledger(&self, namespace: &str) -> Arc<Mutex<Ledger>> {
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ledger) = ledgers.get(namespace) {
            return Arc::clone(ledger);
        }
        // A new one is the time to look which are still needed: those of namespaces without quotas are not.
        if let Some(cache) = self.cache.get() {
            ledgers.retain(|namespace, _| !quotas_in(cache, namespace).is_empty());
        }
        Arc::clone(ledgers.entry(namespace.to_owned()).or_default())
    }
}

impl Ledger {
    fn book(
        &mut self,
        cache: &Cache,
        group: &str,
        resource: &str,
        namespace: &str,
        now: Time,
    ) -> &mut Book {
        let name = cache::name_of(group, resource);
        let collection = cache.collection(&name);
        let book = self
            .books
            .entry(name)
            .or_insert_with(|| Book::new(group, resource, namespace));
        book.catch_up(&collection, now);
        book
    }
}

impl Admission for Quotas {
    fn validate<'a>(
        &'a self,
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let verdict = match new {
            Some(new) => self.judge(call, old, new),
            None => Ok(()),
        };
        at_once(verdict.map(|()| Vec::new()))
    }
}

/// Whether a call can make a namespace use more.
fn is_counted(call: &Call, old: Option<&Value>) -> bool {
    let target = &call.target;
    if target.namespace.is_empty() || !call.served.resource.rules.is_stored() {
        return false;
    }
    let core = target.group.is_empty();
    match (target.resource.as_str(), target.subresource.as_str()) {
        // Upstream: events come and go by themselves.
        ("events", _) => false,
        ("pods", "resize") => core,
        (_, subresource) if !subresource.is_empty() => false,
        ("services" | "persistentvolumeclaims", _) if core => true,
        _ => old.is_none(),
    }
}

/// The quotas of a namespace, by name.
fn quotas_in(cache: &Cache, namespace: &str) -> Vec<Quota> {
    let quotas = cache.collection(&cache::name_of("", "resourcequotas"));
    let snapshot = quotas.snapshot();
    let here = snapshot.objects.in_namespace(namespace);
    here.map(|record| Quota::read(&record.value())).collect()
}

#[cfg(test)]
mod tests;
