//! What stays in a member whose cluster is let go, and what holds a cluster that does not go.
//!
//! Works say what was put into a member. They are looked at while they are there: once they are let go nobody knows any
//! more, and the cluster may be gone before anybody asks.

use api::cluster::Cluster;
use api::names::execution_space;
use api::work::v1alpha1::Work;
use api::work::v1alpha2::{ClusterResourceBinding, ResourceBinding};
use client::{Client, ListOptions, WatchEvent, WatchOptions};
use object::{Object, ResourceType, Value};
use tokio::time::Instant;

use crate::resources;

/// How many objects or bindings are named at most; the rest is counted.
const NAMED: usize = 10;

/// What is in a member by the works for it, and whether anybody could take it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remains {
    /// The objects in words such as `ConfigMap default/a`, sorted.
    pub(super) objects: Vec<String>,
    /// Whether the cluster was ready when it was last seen.
    pub(super) was_ready: bool,
}

/// Whether a cluster is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is.
    Gone,
    /// It was there to the end.
    There,
    /// Nobody can say: the watch ended or was refused.
    Unknown,
}

impl Remains {
    /// What there is before the cluster is asked to go.
    pub(super) async fn before(control: &Client, cluster: &Object) -> Self {
        Self {
            objects: listed(control, cluster.name()).await.unwrap_or_default(),
            was_ready: is_ready(cluster),
        }
    }

    /// Takes note of the cluster's state.
    pub(super) fn see(&mut self, cluster: &Object) {
        self.was_ready = is_ready(cluster);
    }

    /// Follows the cluster from a state on until it is gone or the time is over.
    ///
    /// It is watched and not asked for: it may become unready and be gone within a moment, and its last state says
    /// whether what is in the member stays.
    pub(super) async fn follow(
        &mut self,
        control: &Client,
        cluster: &Object,
        end: Instant,
    ) -> Seen {
        let options = WatchOptions {
            field_selector: format!("metadata.name={}", cluster.name()),
            resource_version: cluster.resource_version().to_owned(),
            ..WatchOptions::default()
        };
        let resource = resources::of::<Cluster>();
        let Ok(mut watch) = control.watch(&resource, "", &options).await else {
            return Seen::Unknown;
        };
        loop {
            match tokio::time::timeout_at(end, watch.next()).await {
                Err(_) => return Seen::There,
                Ok(Some(Ok(WatchEvent::Deleted(last)))) => {
                    self.see(&last);
                    return Seen::Gone;
                }
                Ok(Some(Ok(WatchEvent::Added(now) | WatchEvent::Modified(now)))) => self.see(&now),
                Ok(Some(Ok(WatchEvent::Bookmark { .. }))) => {}
                Ok(None | Some(Err(_))) => return Seen::Unknown,
            }
        }
    }
}

/// The objects that the works for a member put there; `None` if nobody knows.
pub(super) async fn listed(control: &Client, name: &str) -> Option<Vec<String>> {
    let (space, all) = (execution_space(name), ListOptions::default());
    let works = control
        .list_all(&resources::of::<Work>(), &space, &all)
        .await;
    Some(objects_of(&works.ok()?.items))
}

/// The objects that works put into a member.
pub(super) fn objects_of(works: &[Object]) -> Vec<String> {
    let manifests = works.iter().flat_map(|work| {
        let manifests = work.at(&["spec", "workload", "manifests"]);
        manifests.and_then(Value::as_array).into_iter().flatten()
    });
    let mut objects: Vec<String> = manifests.map(named).collect();
    objects.sort_unstable();
    objects
}

/// Says that these objects stay.
pub(super) fn unmanaged(objects: &[String]) -> String {
    let (count, names) = (objects.len(), some_of(objects));
    match count {
        1 => format!("1 object stays in the member and is no longer managed: {names}"),
        _ => format!("{count} objects stay in the member and are no longer managed: {names}"),
    }
}

/// What holds a cluster: works that are not let go, or bindings that name it.
pub(super) async fn holding(control: &Client, name: &str) -> String {
    let space = execution_space(name);
    let all = ListOptions::default();
    let works = control
        .list_all(&resources::of::<Work>(), &space, &all)
        .await;
    if let Ok(works) = works
        && !works.items.is_empty()
    {
        return format!("{} works are left in {space}", works.items.len());
    }
    let mut bindings = Vec::new();
    for resource in [
        resources::of::<ResourceBinding>(),
        resources::of::<ClusterResourceBinding>(),
    ] {
        let listed = control.list_all(&resource, "", &all).await;
        let listed = listed.map(|list| list.items).unwrap_or_default();
        let naming = listed.iter().filter(|binding| has_target(binding, name));
        bindings.extend(naming.map(|binding| naming_of(&resource, binding)));
    }
    match bindings.as_slice() {
        [] => "bindings still name it as a target".to_owned(),
        bindings => format!("it is still a target of {}", some_of(bindings)),
    }
}

/// The first few, and how many there are beside.
pub(crate) fn some_of(names: &[String]) -> String {
    match names.get(..NAMED) {
        Some(first) if names.len() > NAMED => {
            format!("{} and {} more", first.join(", "), names.len() - NAMED)
        }
        _ => names.join(", "),
    }
}

fn naming_of(resource: &ResourceType, object: &Object) -> String {
    format!("{} {}", resource.kind.kind, object.key())
}

fn named(manifest: &Value) -> String {
    let text = |path: &str| manifest.pointer(path).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("object");
    let name = text("/metadata/name").unwrap_or_default();
    match text("/metadata/namespace") {
        Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
        _ => format!("{kind} {name}"),
    }
}

fn has_target(binding: &Object, cluster: &str) -> bool {
    let targets = binding.at(&["spec", "clusters"]).and_then(Value::as_array);
    let mut targets = targets.into_iter().flatten();
    targets.any(|target| target.get("name").and_then(Value::as_str) == Some(cluster))
}

fn is_ready(cluster: &Object) -> bool {
    let conditions = cluster.at(&["status", "conditions"]);
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::object;

    fn check(manifests: Value, expected: &str) {
        let work = object(json!({
            "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": "w", "namespace": "karmada-es-m1"},
            "spec": {"workload": {"manifests": manifests}},
        }));
        assert_eq!(unmanaged(&objects_of(&[work])), expected);
    }

    #[test]
    fn what_stays_is_counted_and_named() {
        check(
            json!([{"kind": "Namespace", "metadata": {"name": "shop"}}]),
            "1 object stays in the member and is no longer managed: Namespace shop",
        );
        check(
            json!([
                {"kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}},
                {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}},
            ]),
            "2 objects stay in the member and are no longer managed: ConfigMap shop/c, Secret shop/s",
        );
        let many =
            (10..23).map(|at| json!({"kind": "Secret", "metadata": {"name": at.to_string()}}));
        check(
            many.collect(),
            "13 objects stay in the member and are no longer managed: Secret 10, Secret 11, Secret 12, Secret 13, \
             Secret 14, Secret 15, Secret 16, Secret 17, Secret 18, Secret 19 and 3 more",
        );
        check(
            json!([{}, 7]),
            "2 objects stay in the member and are no longer managed: object , object ",
        );
    }
}
