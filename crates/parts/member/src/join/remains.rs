//! What stays in a member whose cluster is let go, and what holds a cluster that does not go.
//!
//! Works say what was put into a member. They are looked at while they are there: once they are let go nobody knows any
//! more, and the cluster may be gone before anybody asks.

use api::cluster::Cluster;
use api::names::execution_space;
use api::well_known::{conditions, finalizers};
use api::work::v1alpha1::Work;
use api::work::v1alpha2::{ClusterResourceBinding, ResourceBinding};
use client::{CallError, Client, ListOptions, WatchEvent, WatchOptions};
use object::{Object, ObjectKey, ResourceType, Value};
use telemetry::chain;
use tokio::time::Instant;

use crate::resources;

/// How many objects or bindings are named at most; the rest is counted.
const NAMED: usize = 10;

/// What is in a member by the works for it, and whether anybody could take it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remains {
    /// The objects in words such as `ConfigMap default/a`, sorted.
    pub(super) objects: Vec<String>,
    /// What may be there besides: nobody heard what became of it.
    pub(super) doubtful: Vec<String>,
    /// The namespaces among the objects, which stay even where everything else is taken out.
    pub(super) namespaces: Vec<String>,
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
        let works = listed(control, cluster.name()).await.unwrap_or_default();
        let mut remains = Self {
            objects: Vec::new(),
            doubtful: Vec::new(),
            namespaces: namespaces_of(&works),
            was_ready: is_ready(cluster),
        };
        remains.count(&works, cluster);
        remains
    }

    /// Takes note of what is in the member by now.
    pub(super) fn count(&mut self, works: &[Object], cluster: &Object) {
        self.objects = objects_of(works);
        let doubtful = works.iter().flat_map(|work| match self.was_ready {
            true if is_held(work) => unheard_of(work),
            _ => doubtful(work, cluster).iter().collect(),
        });
        self.doubtful = doubtful.map(named).collect();
        self.doubtful.sort_unstable();
    }

    /// Whether nothing of ours is or may be in the member.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.doubtful.is_empty()
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

/// The works for a member; `None` if nobody knows.
pub(super) async fn listed(control: &Client, name: &str) -> Option<Vec<Object>> {
    let (space, all) = (execution_space(name), ListOptions::default());
    let works = control
        .list_all(&resources::of::<Work>(), &space, &all)
        .await;
    Some(works.ok()?.items)
}

/// The objects that works put into a member.
fn objects_of(works: &[Object]) -> Vec<String> {
    let mut objects: Vec<String> = works.iter().flat_map(brought).map(named).collect();
    objects.sort_unstable();
    objects
}

/// The names of the namespaces that works put into a member and that do not go with them: see `apply::namespace`.
fn namespaces_of(works: &[Object]) -> Vec<String> {
    let staying = works.iter().filter(|work| !work.is_terminating());
    let namespaces = staying
        .flat_map(brought)
        .filter(|manifest| manifest["kind"] == "Namespace" && manifest["apiVersion"] == "v1");
    let mut names: Vec<String> = namespaces
        .filter_map(|manifest| manifest.pointer("/metadata/name")?.as_str())
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}

/// The manifests of a work that are in the member, as the work says: all if it was applied, else those it has reports of. A
/// work that nobody has applied yet put nothing there.
pub(crate) fn brought(work: &Object) -> Vec<&Value> {
    let manifests = list(work, &["spec", "workload", "manifests"]);
    let reported = reported(work);
    let manifests = manifests.iter().enumerate();
    manifests
        .filter(|(ordinal, _)| reported(*ordinal))
        .map(|(_, manifest)| manifest)
        .collect()
}

/// The other manifests of a work.
fn unheard_of(work: &Object) -> Vec<&Value> {
    let manifests = list(work, &["spec", "workload", "manifests"]);
    let reported = reported(work);
    let manifests = manifests.iter().enumerate();
    manifests
        .filter(|(ordinal, _)| !reported(*ordinal))
        .map(|(_, manifest)| manifest)
        .collect()
}

/// Whether somebody who was asked to take a work's objects out of a member that is ready could not: what the member refuses,
/// and what is not there, holds no work.
fn is_held(work: &Object) -> bool {
    let mut finalizers = work.finalizers();
    work.is_terminating() && finalizers.any(|name| name == finalizers::EXECUTION)
}

/// Which manifests of a work are in the member, as the work says.
fn reported(work: &Object) -> impl Fn(usize) -> bool {
    let is_applied = applied(work).is_some_and(|condition| condition["status"] == "True");
    let reports = list(work, &["status", "manifestStatuses"]);
    move |ordinal: usize| {
        let ordinal = u64::try_from(ordinal).ok();
        let mut reported = reports
            .iter()
            .map(|report| &report["identifier"]["ordinal"]);
        is_applied || reported.any(|reported| reported.as_u64().or(Some(0)) == ordinal)
    }
}

/// The manifests of a work that may be in the member although the work says nothing of it: it was there to be brought before
/// the cluster was found not to be ready, and nobody could tell any more. Who was never reached has none.
pub(crate) fn doubtful<'w>(work: &'w Object, cluster: &Object) -> &'w [Value] {
    let was_reached = cluster
        .text_at(&["status", "kubernetesVersion"])
        .is_some_and(|version| !version.is_empty());
    let conditions = list(cluster, &["status", "conditions"]);
    let mut ready = conditions
        .iter()
        .filter(|condition| condition["type"] == conditions::cluster::READY);
    let since = ready.next().map(|ready| &ready["lastTransitionTime"]);
    let since = since.and_then(Value::as_str).unwrap_or_default();
    // Times are written alike, so they compare as text.
    let was_due = is_ready(cluster)
        || work
            .text_at(&["metadata", "creationTimestamp"])
            .is_none_or(|made| made <= since);
    match was_reached && was_due && applied(work).is_none() && brought(work).is_empty() {
        true => list(work, &["spec", "workload", "manifests"]),
        false => &[],
    }
}

fn applied(work: &Object) -> Option<&Value> {
    let mut conditions = list(work, &["status", "conditions"]).iter();
    conditions.find(|condition| condition["type"] == conditions::work::APPLIED)
}

fn list<'o>(object: &'o Object, path: &[&str]) -> &'o [Value] {
    object
        .at(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Says that these objects may stay.
pub(super) fn uncertain(objects: &[String]) -> String {
    let (count, names) = (objects.len(), some_of(objects));
    match count {
        1 => format!(
            "1 more object may be in the member, since nobody heard what became of it: {names}"
        ),
        _ => format!(
            "{count} more objects may be in the member, since nobody heard what became of them: {names}"
        ),
    }
}

/// Says that these namespaces stay.
pub(super) fn staying(namespaces: &[String]) -> String {
    let (count, names) = (namespaces.len(), some_of(namespaces));
    match count {
        1 => format!(
            "1 namespace stays in the member with what else is in it, since it is not deleted in the control plane: {names}"
        ),
        _ => format!(
            "{count} namespaces stay in the member with what else is in them, since they are not deleted in the control plane: {names}"
        ),
    }
}

/// Says that these objects stay.
pub(super) fn unmanaged(objects: &[String]) -> String {
    let (count, names) = (objects.len(), some_of(objects));
    match count {
        1 => format!("1 object stays in the member and is no longer managed: {names}"),
        _ => format!("{count} objects stay in the member and are no longer managed: {names}"),
    }
}

/// What holds a cluster: works that are not let go, their namespace, or bindings that name it.
pub(super) async fn holding(control: &Client, name: &str) -> String {
    let found = hold(control, name).await;
    found.unwrap_or_else(|error| format!("what holds it cannot be told: {}", chain(&error)))
}

async fn hold(control: &Client, name: &str) -> Result<String, CallError> {
    let space = execution_space(name);
    let all = ListOptions::default();
    let works = control
        .list_all(&resources::of::<Work>(), &space, &all)
        .await?;
    if !works.items.is_empty() {
        return Ok(left_in(&space, &works.items));
    }
    let mut bindings = Vec::new();
    for resource in [
        resources::of::<ResourceBinding>(),
        resources::of::<ClusterResourceBinding>(),
    ] {
        let listed = control.list_all(&resource, "", &all).await?;
        let naming = listed.items.iter();
        let naming = naming.filter(|binding| has_target(binding, name));
        bindings.extend(naming.map(|binding| naming_of(&resource, binding)));
    }
    if !bindings.is_empty() {
        return Ok(format!("it is still a target of {}", some_of(&bindings)));
    }
    let key = ObjectKey::cluster(space.as_str());
    match control.get_metadata(&resources::namespaces(), &key).await {
        Ok(_) => Ok(format!("its namespace {space} is still being deleted")),
        Err(error) if error.is_not_found() => {
            Ok("nothing holds it any more, so it should be gone in a moment".to_owned())
        }
        Err(error) => Err(error),
    }
}

/// Says which works there still are, and what they are about.
fn left_in(space: &str, works: &[Object]) -> String {
    let named = |work: &Object| {
        let manifests = list(work, &["spec", "workload", "manifests"]);
        let objects: Vec<String> = manifests.iter().map(named).collect();
        format!("{} ({})", work.name(), some_of(&objects))
    };
    let mut names: Vec<String> = works.iter().map(named).collect();
    names.sort_unstable();
    match names.len() {
        1 => format!("1 work is left in {space}: {}", some_of(&names)),
        count => format!("{count} works are left in {space}: {}", some_of(&names)),
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
            "status": {"conditions": [{"type": "Applied", "status": "True"}]},
        }));
        assert_eq!(unmanaged(&objects_of(&[work])), expected);
    }

    #[test]
    fn only_what_was_brought_stays() {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}});
        let applied = |status: &str| json!([{"type": "Dispatching", "status": "True"}, {"type": "Applied", "status": status}]);
        let report = |ordinal: u64| json!([{"identifier": {"ordinal": ordinal, "kind": "Secret"}}]);
        let both: &[&str] = &["Namespace shop", "Secret shop/s"];
        let cluster = |version: &str, ready: &str| {
            let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:05:00Z"});
            object(json!({"status": {"kubernetesVersion": version, "conditions": [ready]}}))
        };
        for (claim, status, expected) in [
            ("never tried", json!({}), &[][..]),
            ("applied", json!({"conditions": applied("True")}), both),
            ("refused", json!({"conditions": applied("False")}), &[]),
            (
                "refused in part",
                json!({"conditions": applied("False"), "manifestStatuses": report(1)}),
                &["Secret shop/s"],
            ),
            (
                "refused in part, and the first is left out of the list",
                json!({"conditions": applied("False"), "manifestStatuses": [{"identifier": {"kind": "Namespace"}}]}),
                &["Namespace shop"],
            ),
        ] {
            let work = object(json!({
                "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "w"},
                "spec": {"workload": {"manifests": [namespace, secret]}}, "status": status,
            }));
            let doubts = doubtful(&work, &cluster("v1.34.0", "True")).len();
            let is_unheard_of = claim == "never tried";
            assert_eq!(doubts == 2, is_unheard_of, "{claim}: {doubts}");
            assert_eq!(objects_of(std::slice::from_ref(&work)), expected, "{claim}");
            let has_namespace = expected.contains(&"Namespace shop");
            let namespaces = namespaces_of(&[work]);
            assert_eq!(
                namespaces == ["shop"],
                has_namespace,
                "{claim}: {namespaces:?}"
            );
        }
        for (claim, made, version, ready, expected) in [
            ("never reached", "00:01:00", "", "False", 0),
            ("before it was lost", "00:05:00", "v1.34.0", "False", 1),
            ("after it was lost", "00:05:01", "v1.34.0", "Unknown", 0),
            ("while it is well", "00:06:00", "v1.34.0", "True", 1),
        ] {
            let work = object(json!({
                "metadata": {"creationTimestamp": format!("2026-01-01T{made}Z")},
                "spec": {"workload": {"manifests": [secret]}},
            }));
            let doubts = doubtful(&work, &cluster(version, ready)).len();
            assert_eq!(doubts, expected, "{claim}");
        }
    }

    /// A group that went away before anybody heard of the object that was made: the work says that it was not applied.
    #[test]
    fn what_a_member_that_is_well_could_not_be_rid_of_may_be_there() {
        let cluster = |status: &str| {
            object(
                json!({"metadata": {"name": "m1"}, "status": {"kubernetesVersion": "v1.34.0",
            "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:05:00Z"}]}}),
            )
        };
        let work = |deleted: Value, finalizers: Value| {
            object(json!({
                "metadata": {"name": "w", "namespace": "karmada-es-m1", "creationTimestamp": "2026-01-01T00:01:00Z",
                    "deletionTimestamp": deleted, "finalizers": finalizers},
                "spec": {"workload": {"manifests": [
                    {"kind": "Deployment", "metadata": {"name": "a", "namespace": "shop"}},
                    {"kind": "Deployment", "metadata": {"name": "b", "namespace": "shop"}}]}},
                "status": {"conditions": [{"type": "Applied", "status": "False"}],
                    "manifestStatuses": [{"identifier": {"ordinal": 1}}]},
            }))
        };
        let going = json!("2026-01-01T00:09:00Z");
        let ours = json!([finalizers::EXECUTION]);
        for (claim, ready, work, expected) in [
            (
                "held",
                "True",
                work(going.clone(), ours.clone()),
                &["Deployment shop/a"][..],
            ),
            ("let go", "True", work(going.clone(), json!([])), &[]),
            (
                "not asked to go",
                "True",
                work(Value::Null, ours.clone()),
                &[],
            ),
            ("nobody could ask", "False", work(going, ours), &[]),
        ] {
            let cluster = cluster(ready);
            let mut remains = Remains {
                objects: Vec::new(),
                doubtful: Vec::new(),
                namespaces: Vec::new(),
                was_ready: is_ready(&cluster),
            };
            remains.count(&[work], &cluster);
            assert_eq!(remains.objects, ["Deployment shop/b"], "{claim}");
            assert_eq!(remains.doubtful, expected, "{claim}");
        }
    }

    #[test]
    fn works_that_hold_a_cluster_are_named_with_what_they_are_about() {
        let work = |name: &str| {
            let manifest =
                json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}});
            object(
                json!({"metadata": {"name": name}, "spec": {"workload": {"manifests": [manifest]}}}),
            )
        };
        assert_eq!(
            left_in("karmada-es-m1", &[work("w")]),
            "1 work is left in karmada-es-m1: w (Secret shop/s)"
        );
        assert_eq!(
            left_in("karmada-es-m1", &[work("w"), work("v")]),
            "2 works are left in karmada-es-m1: v (Secret shop/s), w (Secret shop/s)"
        );
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
