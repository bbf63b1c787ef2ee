//! Kubernetes' built-in kinds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use builtin::kinds::{self, Dependents, Kind, NameRule};
use builtin::{columns, convert, defaults, scale, strategy, types};
use object::field::FieldError;
use object::time::Time;
use object::{GroupVersionKind, Value, names};
use serde_json::json;
use serve::cache;
use serve::discovery::version_rank;
use serve::lifecycle::Propagation;
use serve::negotiate::Wire;
use serve::resource::{
    Action, Column, KindRules, Resource, ScalePaths, SchemaDuty, Subresource, Version,
};
use serve::target::Verb;

use crate::definition::problems_of_definition;

/// Which groups win when a client names a kind without its group; Kubernetes' own order.
const GROUP_PRIORITIES: [(&str, u32); 18] = [
    ("", 18_000),
    ("apps", 17_800),
    ("events.k8s.io", 17_750),
    ("authentication.k8s.io", 17_700),
    ("authorization.k8s.io", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates.k8s.io", 17_300),
    ("networking.k8s.io", 17_200),
    ("policy", 17_100),
    ("rbac.authorization.k8s.io", 17_000),
    ("storage.k8s.io", 16_800),
    ("apiextensions.k8s.io", 16_700),
    ("admissionregistration.k8s.io", 16_700),
    ("scheduling.k8s.io", 16_600),
    ("coordination.k8s.io", 16_500),
    ("node.k8s.io", 16_300),
    ("discovery.k8s.io", 16_200),
];
/// Below all groups that are named above and above all custom ones.
const OTHER_BUILTIN: u32 = 16_000;

/// How many seconds a pod has to end when it does not say.
const POD_GRACE: i64 = 30;

/// What becomes of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pods {
    /// Somebody runs them on their nodes, and takes them away when they have ended.
    Run,
    /// Nobody does.
    AreTemplates,
}

/// Every built-in kind, as a cluster has it. Those whose objects are answered and not kept need a handler for each.
#[must_use]
pub fn builtin_resources() -> Vec<Resource> {
    resources(Pods::Run)
}

/// The same where objects are templates for clusters: a pod that names a node runs on none, and goes at once.
#[must_use]
pub fn template_resources() -> Vec<Resource> {
    resources(Pods::AreTemplates)
}

/// The groups and names of these, without making them.
pub fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let served = kinds::kinds().iter().filter(|kind| !kind.verbs.is_empty());
    served.map(|kind| (kind.group, kind.plural))
}

fn resources(pods: Pods) -> Vec<Resource> {
    let mut by_plural: BTreeMap<(&str, &str), Vec<&'static Kind<'static>>> = BTreeMap::new();
    for kind in kinds::kinds().iter().filter(|kind| !kind.verbs.is_empty()) {
        by_plural
            .entry((kind.group, kind.plural))
            .or_default()
            .push(kind);
    }
    let versions = by_plural.into_values();
    versions
        .filter_map(|versions| resource(versions, pods))
        .collect()
}

fn resource(mut versions: Vec<&'static Kind<'static>>, pods: Pods) -> Option<Resource> {
    versions.sort_by_key(|kind| Reverse(version_rank(kind.version)));
    let preferred = *versions.first()?;
    let stored = stored_kind(preferred);
    let priority = GROUP_PRIORITIES
        .iter()
        .find(|(group, _)| *group == preferred.group);
    Some(Resource {
        group: preferred.group.into(),
        kind: preferred.kind.into(),
        list_kind: preferred.list_kind().into(),
        plural: preferred.plural.into(),
        singular: preferred.singular().into(),
        short_names: preferred
            .short_names
            .iter()
            .copied()
            .map(Arc::from)
            .collect(),
        categories: preferred
            .categories
            .iter()
            .copied()
            .map(Arc::from)
            .collect(),
        namespaced: preferred.namespaced,
        versions: versions.iter().map(|kind| version(kind)).collect(),
        collection: cache::name_of(stored.group, stored.plural).into(),
        stored_as: stored.api_version().into(),
        group_priority: priority.map_or(OTHER_BUILTIN, |(_, priority)| *priority),
        rules: Arc::new(BuiltinRules { versions, pods }),
    })
}

/// The kind objects are kept as, which for a few is another one.
fn stored_kind(kind: &'static Kind<'static>) -> &'static Kind<'static> {
    let other = kind
        .stored
        .and_then(|stored| kinds::find(stored.group, stored.version, stored.kind));
    other.unwrap_or(kind)
}

fn version(kind: &Kind<'static>) -> Version {
    Version {
        name: kind.version.into(),
        served: true,
        warning: None,
        schema: types::types().schema(&kind.type_name()),
        verbs: kind.verbs.iter().filter_map(|verb| verb_of(verb)).collect(),
        subresources: kind.subresources.iter().map(subresource).collect(),
        columns: kind.columns.iter().map(column).collect(),
        selectable: kind
            .selectors
            .iter()
            .map(|selector| selector.label.into())
            .collect(),
    }
}

/// Parts of an object: data, or calls (logs, exec, proxies, evictions, tokens), which need a handler for each.
fn subresource(part: &kinds::Subresource<'static>) -> Subresource {
    let action = match part.name {
        "status" | "finalize" | "approval" | "ephemeralcontainers" | "resize" => Action::Status,
        "scale" => Action::Scale(ScalePaths {
            wanted: ".spec.replicas".into(),
            present: ".status.replicas".into(),
            selector: None, // Not a text here; the kind knows how to write it.
        }),
        _ => Action::Custom,
    };
    Subresource {
        name: part.name.into(),
        kind: part
            .kind
            .map(|kind| (kind.group.into(), kind.version.into(), kind.kind.into())),
        verbs: part.verbs.iter().filter_map(|verb| verb_of(verb)).collect(),
        action,
    }
}

fn column(column: &columns::Column<'static>) -> Column {
    Column {
        name: column.header.into(),
        kind: column.ty.into(),
        format: column.format.into(),
        description: column.description.into(),
        priority: column.priority,
    }
}

fn verb_of(text: &str) -> Option<Verb> {
    let all = [
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
    ];
    all.into_iter().find(|verb| verb.as_str() == text)
}

/// The kinds of which an update makes the objects that are not there. Upstream: the same.
const CREATED_BY_UPDATE: &[(&str, &str)] = &[
    ("", "Endpoints"),
    ("", "Event"),
    ("", "LimitRange"),
    ("coordination.k8s.io", "Lease"),
    ("events.k8s.io", "Event"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
];

/// The kinds whose updates must say what they are made from. Upstream: the same.
const NEEDS_REVISION: &[(&str, &str)] = &[
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("coordination.k8s.io", "Lease"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodDisruptionBudget"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "CSIStorageCapacity"),
    ("storage.k8s.io", "VolumeAttachment"),
];

/// The kinds whose objects are shown when they go. Upstream: the same, and clients made from its description rely on it.
const SHOWN_WHEN_GONE: &[(&str, &str)] = &[
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// One built-in kind in all its versions.
struct BuiltinRules {
    versions: Vec<&'static Kind<'static>>,
    pods: Pods,
}

impl BuiltinRules {
    fn kind(&self) -> &'static Kind<'static> {
        self.versions
            .first()
            .expect("invariant: a resource has a version")
    }

    fn version(&self, name: &str) -> &'static Kind<'static> {
        self.versions
            .iter()
            .find(|kind| kind.version == name)
            .copied()
            .unwrap_or_else(|| self.kind())
    }

    fn gvk(&self, version: &str) -> GroupVersionKind {
        let kind = self.version(version);
        GroupVersionKind::new(kind.group, kind.version, kind.kind)
    }

    fn is(&self, group: &str, kind: &str) -> bool {
        self.kind().group == group && self.kind().kind == kind
    }
}

impl KindRules for BuiltinRules {
    fn prepare_create(&self, version: &str, object: &mut Value, now: Time) {
        strategy::prepare_create(&self.gvk(version), object, now);
    }

    fn prepare_update(&self, version: &str, old: &Value, new: &mut Value, part: &str) {
        match part {
            "" => strategy::prepare_update(&self.gvk(version), old, new),
            part => strategy::prepare_subresource_update(&self.gvk(version), part, old, new),
        }
    }

    fn adds_on_create(&self) -> bool {
        self.is("batch", "Job")
    }

    fn unowned_fields(&self, version: &str, part: &str) -> &'static [&'static str] {
        strategy::reset_fields(&self.gvk(version), part)
    }

    fn schema_duty(&self) -> SchemaDuty {
        SchemaDuty::Shape
    }

    fn wire(&self) -> Option<Wire> {
        Some(Wire(types::wire()))
    }

    fn validate(
        &self,
        version: &str,
        old: Option<&Value>,
        new: &Value,
        part: &str,
    ) -> Vec<FieldError> {
        let gvk = self.gvk(version);
        let mut errors = match (old, part) {
            (None, _) => strategy::validate_create(&gvk, new),
            (Some(old), "") => strategy::validate_update(&gvk, old, new),
            (Some(old), part) => strategy::validate_subresource_update(&gvk, part, old, new),
        };
        // What a definition says of a kind is judged when it is said, not when the kind is used. One that was let in
        // once stays as it is while only its metadata or status change.
        let says_anew = old.is_none_or(|old| old.get("spec") != new.get("spec"));
        if self.is("apiextensions.k8s.io", "CustomResourceDefinition")
            && errors.is_empty()
            && part.is_empty()
            && says_anew
        {
            errors.extend(problems_of_definition(old, new));
        }
        errors
    }

    fn scale_of(&self, object: &Value, _: &ScalePaths) -> Value {
        scale::scale_of(object)
    }

    fn apply_scale(&self, wanted: &Value, object: &mut Value, _: &ScalePaths) {
        scale::apply_scale(wanted, object);
    }

    fn apply_defaults(&self, version: &str, object: &mut Value) {
        defaults::apply_defaults(&self.gvk(version), object);
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let from = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if from == api_version {
            return Some(object.clone());
        }
        let here = self.versions.iter().find(|kind| kind.api_version() == from);
        let there = self
            .versions
            .iter()
            .find(|kind| kind.api_version() == api_version);
        match (here, there) {
            (Some(kind), _) if kind.stored.is_some() => convert::to_stored(kind, object),
            (_, Some(kind)) if kind.stored.is_some() => convert::from_stored(kind, object),
            _ => None,
        }
    }

    fn cells(&self, version: &str, object: &Value, now: Time) -> Vec<Value> {
        columns::row(self.version(version), object, now)
    }

    fn field(&self, object: &Value, path: &str) -> Option<String> {
        let kind = self.kind();
        // What is kept as another kind is looked at as the one that was asked for.
        if kind.stored.is_some() {
            let own = self.convert(object, &kind.api_version())?;
            return kind.selectable(path, &own);
        }
        kind.selectable(path, object)
    }

    fn first_generation(&self) -> Option<i64> {
        let generation = self.kind().generation.as_ref()?;
        Some(i64::from(!generation.later))
    }

    fn is_new_generation(&self, old: &Value, new: &Value) -> bool {
        let Some(generation) = &self.kind().generation else {
            return false;
        };
        let differs = |path: &[&str]| at(old, path) != at(new, path);
        generation.fields.iter().any(|field| differs(&[field]))
            || (generation.labels && differs(&["metadata", "labels"]))
            || (generation.annotations && differs(&["metadata", "annotations"]))
    }

    fn check_name(&self, name: &str) -> Vec<String> {
        match self.kind().names {
            NameRule::Subdomain => names::check_dns1123_subdomain(name),
            NameRule::Label => names::check_dns1123_label(name),
            NameRule::Dns1035 => names::check_dns1035_label(name),
            NameRule::PathSegment => names::check_path_segment(name),
            NameRule::IpAddress if name.parse::<std::net::IpAddr>().is_err() => {
                vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()]
            }
            NameRule::IpAddress | NameRule::Any => Vec::new(),
        }
    }

    fn is_created_by_update(&self) -> bool {
        CREATED_BY_UPDATE
            .iter()
            .any(|(group, kind)| self.is(group, kind))
    }

    fn is_shown_when_gone(&self) -> bool {
        SHOWN_WHEN_GONE
            .iter()
            .any(|(group, kind)| self.is(group, kind))
    }

    fn needs_revision(&self) -> bool {
        NEEDS_REVISION
            .iter()
            .any(|(group, kind)| self.is(group, kind))
    }

    fn holds(&self, object: &Value) -> bool {
        let held = at(object, &["spec", "finalizers"]).and_then(Value::as_array);
        self.is("", "Namespace") && held.is_some_and(|list| !list.is_empty())
    }

    /// Upstream: a pod that runs is given time to end; one that was never placed or has ended needs none. Where no pod runs,
    /// nobody would ever say that one has ended, and it would hold its namespace for ever.
    fn grace(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        if !self.is("", "Pod") {
            return None;
        }
        let text = |path: &[&str]| at(object, path).and_then(Value::as_str).unwrap_or_default();
        let is_idle = text(&["spec", "nodeName"]).is_empty()
            || matches!(text(&["status", "phase"]), "Succeeded" | "Failed");
        if self.pods == Pods::AreTemplates || is_idle {
            return Some(0);
        }
        let own = at(object, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
        let seconds = asked.or(own).unwrap_or(POD_GRACE);
        Some(if seconds < 0 { 1 } else { seconds })
    }

    fn begin_ending(&self, object: &mut Value) {
        let status = object
            .as_object_mut()
            .filter(|_| self.is("", "Namespace"))
            .and_then(|fields| {
                fields
                    .entry("status")
                    .or_insert_with(|| json!({}))
                    .as_object_mut()
            });
        if let Some(status) = status {
            status.insert("phase".to_owned(), json!("Terminating"));
        }
    }

    fn is_stored(&self) -> bool {
        !self.kind().is_create_only()
    }

    fn default_propagation(&self) -> Propagation {
        match self.kind().dependents {
            Dependents::Orphan => Propagation::Orphan,
            Dependents::Background | Dependents::Unsupported => Propagation::Background,
        }
    }

    fn undecided_deletion(&self) -> Option<&'static str> {
        self.is("batch", "Job").then_some(JOBS_LEAVE_PODS)
    }
}

/// Upstream: this sentence.
const JOBS_LEAVE_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_keeps_objects_is_a_resource_with_a_schema_and_columns() {
        let resources = builtin_resources();
        assert!(resources.len() > 55, "{}", resources.len());
        for resource in resources
            .iter()
            .filter(|resource| resource.rules.is_stored())
        {
            for version in &resource.versions {
                let name = format!("{}/{} {}", resource.group, version.name, resource.plural);
                assert!(version.schema.is_some(), "{name} has a schema");
                assert!(!version.columns.is_empty(), "{name} has columns");
                let object = json!({"metadata": {"name": "x"}});
                let now = "2026-01-01T00:00:00Z".parse().unwrap();
                let cells = resource.rules.cells(&version.name, &object, now);
                assert_eq!(
                    cells.len(),
                    version.columns.len(),
                    "{name} has a cell for each column"
                );
            }
        }
    }

    #[test]
    fn a_pod_on_a_node_has_time_to_end_where_pods_run() {
        let grace = |resources: Vec<Resource>, pod: &Value, asked: Option<i64>| {
            let pods = resources
                .iter()
                .find(|resource| &*resource.collection == "core/pods");
            pods.unwrap().rules.grace(pod, asked)
        };
        for (spec, asked, expected) in [
            (json!({}), None, 0),
            (json!({"nodeName": "n"}), None, 30),
            (
                json!({"nodeName": "n", "terminationGracePeriodSeconds": 5}),
                None,
                5,
            ),
            (
                json!({"nodeName": "n", "terminationGracePeriodSeconds": 5}),
                Some(9),
                9,
            ),
            (json!({"nodeName": "n"}), Some(0), 0),
        ] {
            let pod = json!({"spec": spec});
            let expected = Some(expected);
            assert_eq!(grace(builtin_resources(), &pod, asked), expected, "{pod}");
            assert_eq!(grace(template_resources(), &pod, asked), Some(0), "{pod}");
        }
    }

    #[test]
    fn a_kind_with_two_versions_is_kept_in_one() {
        let resources = builtin_resources();
        let scaler = resources
            .iter()
            .find(|resource| &*resource.plural == "horizontalpodautoscalers")
            .unwrap();
        let versions: Vec<&str> = scaler
            .versions
            .iter()
            .map(|version| &*version.name)
            .collect();
        assert_eq!(
            (versions, &*scaler.stored_as),
            (vec!["v2", "v1"], "autoscaling/v2")
        );
        let events: Vec<(&str, &str)> = resources
            .iter()
            .filter(|resource| &*resource.plural == "events")
            .map(|resource| (&*resource.collection, &*resource.stored_as))
            .collect();
        assert_eq!(events, [("core/events", "v1"), ("core/events", "v1")]);
    }
}
