//! What is said to webhooks, and what they answer.
//!
//! ```json
//! {"apiVersion": "scheduling.karavel.io/v1alpha1", "kind": "ClusterReview", "request": {
//!   "uid": "7d2e…@1042", "plugin": "Carbon", "points": ["Filter", "Score"],
//!   "binding": {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"},
//!   "clusters": [{"name": "m1", "provider": "aws", "region": "eu", "zones": ["a"], "labels": {"env": "prod"}}]}}
//! ```
//! and back
//! ```json
//! {"response": {"uid": "7d2e…@1042", "clusters": [
//!   {"name": "m1", "allowed": false, "reason": "runs on coal"}, {"name": "m2", "score": 80}]}}
//! ```
//! Clusters that an answer does not mention are allowed and score 0. A uid that is not the question's, a score outside of
//! 0 to 100, a cluster that is there twice and anything of another type make the whole answer unusable.

use std::{collections::BTreeMap, sync::Arc};

use object::{Map, Object, Value};
use schedule::{
    cluster::ClusterFacts,
    cut,
    plugin::{Opinion, Told},
};
use serde_json::json;

use super::WebhookSettings;

/// The version of the documents.
pub const API_VERSION: &str = "scheduling.karavel.io/v1alpha1";
/// Their kind.
pub const KIND: &str = "ClusterReview";

/// What a cluster is refused for when no reason is given.
const NO_REASON: &str = "cluster(s) were refused by a webhook";

/// How much of a reason is kept, in bytes: it is kept with the decision for each cluster.
const LONGEST_REASON: usize = 1_024;

/// Why an answer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is not JSON.
    #[error("it is not JSON")]
    Json(#[from] serde_json::Error),
    /// A field is missing or of another type.
    #[error("{field}: expected {expected}")]
    Field {
        /// Where.
        field: String,
        /// What should be there.
        expected: &'static str,
    },
    /// It answers another question.
    #[error("response.uid: it answers another question ({0:?})")]
    OtherQuestion(String),
}

/// The question about `clusters` for `binding`.
#[must_use]
pub fn review(settings: &WebhookSettings, binding: &Object, clusters: &[&ClusterFacts]) -> Value {
    let points = [("Filter", settings.filters), ("Score", settings.scores)];
    let points = points.iter().filter(|(_, is_on)| *is_on);
    let points: Vec<&str> = points.map(|(name, _)| *name).collect();
    let clusters: Vec<Value> = clusters
        .iter()
        .map(|cluster| cluster_value(cluster))
        .collect();
    json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "request": {
            "uid": uid(binding),
            "plugin": &*settings.name,
            "points": points,
            "binding": Value::Object(binding.fields().clone()),
            "clusters": clusters,
        },
    })
}

/// What an answer says.
pub fn read_answer(bytes: &[u8], binding: &Object) -> Result<Told, AnswerError> {
    let answer: Value = serde_json::from_slice(bytes)?;
    let response = answer.get("response").and_then(Value::as_object);
    let response = response.ok_or_else(|| wrong("response", "an object"))?;
    match response.get("uid") {
        None | Some(Value::Null) => {}
        Some(Value::String(answered)) if *answered == uid(binding) => {}
        Some(Value::String(answered)) => return Err(AnswerError::OtherQuestion(answered.clone())),
        Some(_) => return Err(wrong("response.uid", "a text")),
    }
    let clusters = match response.get("clusters") {
        None | Some(Value::Null) => return Ok(Told::default()),
        Some(Value::Array(clusters)) => clusters,
        Some(_) => return Err(wrong("response.clusters", "a list")),
    };
    let mut opinions: BTreeMap<Arc<str>, Opinion> = BTreeMap::new();
    for (index, cluster) in clusters.iter().enumerate() {
        let field = |name: &str| format!("response.clusters[{index}].{name}");
        let (name, opinion) = opinion(cluster, field)?;
        // It may be refused in one place and allowed in the other: then nobody knows what is meant.
        if opinions.insert(name, opinion).is_some() {
            return Err(wrong(field("name"), "each cluster once"));
        }
    }
    Ok(Told::new(opinions))
}

fn opinion(
    cluster: &Value,
    field: impl Fn(&str) -> String,
) -> Result<(Arc<str>, Opinion), AnswerError> {
    let present = |name: &str| cluster.get(name).filter(|value| !value.is_null());
    let name = present("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| wrong(field("name"), "the name of a cluster"))?;
    let is_allowed = match present("allowed") {
        None => true,
        Some(Value::Bool(is_allowed)) => *is_allowed,
        Some(_) => return Err(wrong(field("allowed"), "true or false")),
    };
    let reason = match present("reason") {
        None => NO_REASON,
        Some(Value::String(reason)) if !reason.is_empty() => reason,
        Some(Value::String(_)) => NO_REASON,
        Some(_) => return Err(wrong(field("reason"), "a text")),
    };
    let score = match present("score") {
        None => 0,
        Some(score) => score
            .as_i64()
            .filter(|score| (0..=100).contains(score))
            .ok_or_else(|| wrong(field("score"), "a whole number from 0 to 100"))?,
    };
    let refusal = (!is_allowed).then(|| Arc::from(cut(reason, LONGEST_REASON)));
    Ok((Arc::from(name), Opinion { refusal, score }))
}

fn wrong(field: impl Into<String>, expected: &'static str) -> AnswerError {
    AnswerError::Field {
        field: field.into(),
        expected,
    }
}

fn cluster_value(cluster: &ClusterFacts) -> Value {
    let labels = cluster.labels.iter();
    let labels = labels.map(|(key, value)| (key.to_string(), Value::from(&**value)));
    let zones = cluster.zones.iter().map(|zone| Value::from(&**zone));
    json!({
        "name": &*cluster.name,
        "provider": &*cluster.provider,
        "region": &*cluster.region,
        "zones": zones.collect::<Vec<Value>>(),
        "labels": labels.collect::<Map>(),
    })
}

/// Which state of which binding a question is about.
fn uid(binding: &Object) -> String {
    format!("{}@{}", binding.uid(), binding.resource_version())
}
