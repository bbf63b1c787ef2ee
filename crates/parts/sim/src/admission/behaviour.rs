//! Whoever stages behaviour that is not understood is warned.

use object::Value;
use serve::call::Call;

use crate::behaviour;

/// Where kinds have the metadata of their pods.
const PODS: [(&str, &str, &str); 7] = [
    ("", "pods", "/metadata"),
    ("apps", "deployments", "/spec/template/metadata"),
    ("apps", "replicasets", "/spec/template/metadata"),
    ("apps", "statefulsets", "/spec/template/metadata"),
    ("apps", "daemonsets", "/spec/template/metadata"),
    ("batch", "jobs", "/spec/template/metadata"),
    (
        "batch",
        "cronjobs",
        "/spec/jobTemplate/spec/template/metadata",
    ),
];

/// What is said about annotations of pods, or of templates of pods, that mean nothing.
pub(crate) fn warnings(call: &Call, object: &Value) -> Vec<String> {
    let target = &call.target;
    let place = PODS.iter().find(|(group, resource, _)| {
        (*group, *resource) == (target.group.as_str(), target.resource.as_str())
    });
    let Some((_, _, path)) = place.filter(|_| target.subresource.is_empty()) else {
        return Vec::new();
    };
    behaviour::misunderstood_in(object.pointer(path))
        .map(|why| format!("annotation is not understood and ignored: {why}"))
        .collect()
}
