//! State that a new copy inherits from the one it replaces.

use std::collections::BTreeMap;

use api::{policy::StatePreservation, work::v1alpha2::ResourceBindingStatus};
use object::jsonpath::{EvaluateError, JsonPath, MissingKeys, ParseJsonPathError};

/// Why state cannot be preserved; the workload stays where it is until it can.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The cluster has not reported.
    #[error("the application status has not yet been collected from cluster {0}")]
    NotReported(String),
    /// A rule is not a JSONPath.
    #[error("the path of {label} cannot be read")]
    Path {
        /// The label of the rule.
        label: String,
        /// Why.
        source: ParseJsonPathError,
    },
    /// The status has nothing there.
    #[error("the path of {label} finds nothing in what cluster {cluster} reports")]
    Missing {
        /// The label of the rule.
        label: String,
        /// The cluster.
        cluster: String,
        /// Why.
        source: EvaluateError,
    },
}

/// The labels that the new copy gets, from what the old one reports.
pub fn preserve(
    rules: Option<&StatePreservation>,
    status: &ResourceBindingStatus,
    cluster: &str,
) -> Result<BTreeMap<String, String>, StateError> {
    let mut labels = BTreeMap::new();
    let Some(rules) = rules.filter(|rules| !rules.rules.is_empty()) else {
        return Ok(labels);
    };
    let reported = status
        .aggregated_status
        .iter()
        .find(|item| item.cluster_name == cluster)
        .and_then(|item| item.status.as_ref())
        .ok_or_else(|| StateError::NotReported(cluster.to_owned()))?;
    for rule in &rules.rules {
        let label = rule.alias_label_name.clone();
        let path = JsonPath::template(&rule.json_path).map_err(|source| StateError::Path {
            label: label.clone(),
            source,
        })?;
        let value = path
            .render(reported, MissingKeys::Refuse)
            .map_err(|source| StateError::Missing {
                label: label.clone(),
                cluster: cluster.to_owned(),
                source,
            })?;
        labels.insert(label, value);
    }
    Ok(labels)
}
