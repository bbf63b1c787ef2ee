//! What events do: bring bindings to the line, take clusters into the fleet, end promises.

use std::{collections::BTreeSet, sync::Arc};

use api::well_known::conditions::binding::SCHEDULED;
use api::work::v1alpha2::AggregatedStatusItem;
use client::Change;
use object::{Object, Value, parse};
use schedule::cluster::ClusterFacts;
use schedule::intake::{
    Glance, Intake, binding_changed, is_affected, is_taken, may_decide, may_help,
};
use telemetry::chain;
use tracing::warn;

use crate::{
    cycle::Desk,
    fleet::{Effect, ServesMore},
    groups,
    line::Key,
    metrics::Incoming,
    queue::Cause,
    settings::{Overcommit, Priorities},
};

impl Desk {
    /// Takes a change of a binding in.
    pub(crate) fn binding_changed(&self, change: &Change) {
        let key: Key = Arc::new(change.key());
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        // Most bindings are of no group, and need not wait for those that are.
        if change.states().any(|binding| groups::is_grouped(binding)) {
            self.ahead.seen(&key, after);
            if groups::may_matter_to_peers(before, after) {
                self.bring_peers_without_a_place(&key, change);
            }
        }
        let Some(after) = after else {
            self.line.remove(&key);
            self.release(&key);
            return;
        };
        let glance = Glance::at(after);
        let previously = before.map(Glance::at);
        match binding_changed(previously.as_ref(), &glance, &self.settings.name) {
            Intake::Enqueue => {
                self.metrics.came(Incoming::BindingAdd);
                // After a restart all of them are new to us, and most were decided before: those made meanwhile go first.
                let is_known = before.is_none() && glance.is_decided();
                let cause = if is_known {
                    Cause::Review
                } else {
                    Cause::Elsewhere
                };
                self.push(&key, &glance, cause);
            }
            Intake::Edited => {
                self.metrics.came(Incoming::BindingUpdate);
                self.push(&key, &glance, Cause::Changed(glance.generation));
            }
            Intake::Release => self.release(&key),
            Intake::Ignore => {}
        }
        if let Some(before) = before {
            self.release_healthy(&key, before, after);
        }
    }

    /// Takes a change of a cluster in, and brings the bindings it concerns.
    pub(crate) fn cluster_changed(&self, change: &Change) {
        if let Some(estimators) = &self.estimators {
            match (&change.before, &change.after) {
                (_, None) => estimators.forget(&change.key().name),
                // Those there are at the start are greeted together.
                (None, Some(_)) if self.greeted.initialized() => {
                    estimators.greet_later(change.key().name.into());
                }
                _ => {}
            }
        }
        let effect = self
            .fleet
            .apply(change.before.as_deref(), change.after.as_deref());
        let Effect {
            concerned,
            roomier,
            serves_more,
            leaving,
        } = match effect {
            Ok(effect) => effect,
            Err(problem) => {
                warn!(cluster = %change.key(), error = %chain(&problem), "a cluster cannot be read and stays as it was");
                return;
            }
        };
        if !concerned.is_empty() || leaving.is_some() {
            for binding in self.all_bindings() {
                let Some(prepared) = self.placement(&binding) else {
                    continue;
                };
                let glance = Glance::at(&binding);
                let affects = |cluster| {
                    is_affected(&glance, &prepared.compiled, cluster, &self.settings.name)
                };
                let is_left = || {
                    let leaving = leaving.as_deref();
                    leaving.is_some_and(|cluster| has_target(&binding, cluster))
                        && may_decide(&glance, &self.settings.name)
                };
                if concerned.iter().any(|cluster| affects(cluster)) || is_left() {
                    self.metrics.came(Incoming::ClusterChanged);
                    self.push(&Arc::new(binding.key()), &glance, Cause::Review);
                }
            }
        }
        if let Some(cluster) = serves_more {
            self.bring_those_it_may_serve(&cluster);
        }
        if let Some(cluster) = roomier {
            self.bring_those_short_of_room(&[&cluster]);
        }
    }

    fn all_bindings(&self) -> impl Iterator<Item = Arc<Object>> + use<> {
        self.bindings.walk().chain(self.cluster_bindings.walk())
    }

    /// Brings bindings that a cluster could suit now: those without a place, and those of a kind that is new to it.
    ///
    /// Upstream: such a binding waits for an unrelated event. A custom object that came along with its definition would
    /// wait for ever, or go only to those members that had its kind first. Whether a division is made anew for it, the
    /// binding's note of those it goes without says: see [`schedule::awaited`].
    fn bring_those_it_may_serve(&self, more: &ServesMore) {
        for binding in self.all_bindings() {
            if !has_no_place(&binding) && !is_new_kind(&binding, more) {
                continue;
            }
            let glance = Glance::at(&binding);
            if !is_taken(&glance, &self.settings.name) {
                continue;
            }
            let prepared = self.placement(&binding);
            if prepared.is_some_and(|prepared| may_help(&prepared.compiled, &more.cluster)) {
                self.metrics.came(Incoming::ClusterChanged);
                self.push(&Arc::new(binding.key()), &glance, Cause::Review);
            }
        }
    }

    /// Brings bindings of a binding's groups that have no place: the cluster it left may suit them now, or the one it went
    /// to, or have the room that the others lacked.
    ///
    /// Upstream: they wait for an unrelated event.
    fn bring_peers_without_a_place(&self, key: &Key, change: &Change) {
        let groups: BTreeSet<String> = change.states().flat_map(|at| groups::keys(at)).collect();
        for group in groups {
            for peer in self.group_members(&group) {
                let (peer_key, glance) = (Arc::new(peer.key()), Glance::at(&peer));
                let may_be_brought =
                    has_no_place(&peer) && may_decide(&glance, &self.settings.name);
                if may_be_brought && peer_key != *key {
                    self.metrics.came(Incoming::BindingUpdate);
                    self.push(&peer_key, &glance, Cause::Review);
                }
            }
        }
    }

    fn push(&self, key: &Key, glance: &Glance<'_>, cause: Cause) {
        let priority = match self.settings.priorities {
            Priorities::Ignored => 0,
            Priorities::Heeded => glance.priority,
        };
        self.line.push(key, priority, cause);
    }

    fn placement(&self, binding: &Object) -> Option<Arc<crate::placements::Prepared>> {
        let placement = binding.at(&["spec", "placement"])?;
        self.placements.prepare(placement).ok()
    }

    /// Ends the promises made to a binding.
    pub(crate) fn release(&self, key: &Key) {
        if self.settings.overcommit == Overcommit::Guarded {
            let clusters = self.assumptions().release(&key.to_string());
            self.room_came_back(&clusters);
        }
    }

    /// Brings bindings that wait for room and may find it in clusters where it was promised to another.
    fn room_came_back(&self, clusters: &[Arc<str>]) {
        let fleet = self.fleet.snapshot();
        let clusters = clusters.iter();
        let roomier = clusters.filter_map(|name| fleet.at(fleet.position(name)?));
        self.bring_those_short_of_room(&roomier.collect::<Vec<_>>());
    }

    /// Brings bindings that wait for room and may find it in these clusters.
    fn bring_those_short_of_room(&self, roomier: &[&ClusterFacts]) {
        if roomier.is_empty() || !self.line.has_unschedulable() {
            return;
        }
        self.line.retry_where(|key| {
            let binding = self.binding(key);
            let prepared = binding.and_then(|binding| self.placement(&binding));
            prepared.is_some_and(|prepared| {
                let mut roomier = roomier.iter();
                roomier.any(|cluster| may_help(&prepared.compiled, cluster))
            })
        });
    }

    /// Ends promises on clusters where the workload became healthy: the cluster's report shows it now.
    fn release_healthy(&self, key: &Key, before: &Object, after: &Object) {
        if self.settings.overcommit != Overcommit::Guarded {
            return;
        }
        let path = ["status", "aggregatedStatus"];
        let (before, after) = (before.at(&path), after.at(&path));
        let key = key.to_string();
        if before == after || !self.assumptions().has(&key) {
            return;
        }
        let items = |value: Option<&Value>| -> Vec<AggregatedStatusItem> {
            value
                .and_then(|value| parse::shape(value).ok())
                .unwrap_or_default()
        };
        let healthy = self
            .assumptions()
            .release_healthy(&key, &items(before), &items(after));
        self.room_came_back(&healthy);
    }
}

/// Whether a binding names the cluster as a target.
fn has_target(binding: &Object, cluster: &str) -> bool {
    let targets = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
    let mut targets = targets.into_iter().flatten();
    targets.any(|target| target.get("name").and_then(Value::as_str) == Some(cluster))
}

/// Whether a cluster has only now begun to serve the kind that a binding is for.
fn is_new_kind(binding: &Object, more: &ServesMore) -> bool {
    let resource = |field| {
        let value = binding.at(&["spec", "resource", field]);
        value.and_then(Value::as_str).unwrap_or_default()
    };
    more.is_new(resource("apiVersion"), resource("kind"))
}

/// Whether the last decision found no place for the binding: no cluster that suits it, or none with the room.
fn has_no_place(binding: &Object) -> bool {
    let conditions = binding.at(&["status", "conditions"]);
    let conditions = conditions.and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition["type"] == SCHEDULED && condition["status"] == "False")
    })
}
