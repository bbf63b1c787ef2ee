//! One webhook, read from its configuration.

use std::time::Duration;

use object::Value;

use crate::endpoint::{Endpoint, EndpointError};
use crate::expression::Conditions;
use crate::matching::Match;

/// How long to wait for a webhook that does not say.
const DEFAULT_WAIT: u64 = 10;
/// The longest anybody waits for a webhook.
const LONGEST_WAIT: u64 = 30;

/// A webhook, ready to be asked.
#[derive(Debug)]
pub(crate) struct Webhook {
    /// The configuration it stands in.
    pub(crate) configuration: String,
    pub(crate) name: String,
    /// Where it is; a webhook that is nowhere fails as one that does not answer.
    pub(crate) endpoint: Result<Endpoint, EndpointError>,
    pub(crate) matches: Match,
    /// What must hold besides.
    pub(crate) conditions: Conditions,
    /// Whether a request goes on when the webhook cannot be asked.
    pub(crate) fails_open: bool,
    /// Whether it may be asked about rehearsals.
    pub(crate) may_rehearse: bool,
    /// Whether it wants to see what others changed after it.
    pub(crate) again: bool,
    pub(crate) wait: Duration,
    /// The version of the review it reads.
    pub(crate) review: &'static str,
}

/// All webhooks of all configurations, in the order they are asked.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) webhooks: Vec<Webhook>,
}

impl Chain {
    /// Reads configurations, which come sorted by name. Upstream: webhooks are asked in that order.
    pub(crate) fn compile(configurations: &[Value]) -> Self {
        let mut webhooks = Vec::new();
        for configuration in configurations {
            let list = configuration.get("webhooks").and_then(Value::as_array);
            for webhook in list.into_iter().flatten() {
                let name = configuration_name(configuration);
                match Webhook::read(&name, webhook) {
                    Ok(webhook) => webhooks.push(webhook),
                    // Validation lets no such webhook in; one from elsewhere must not stop everything else.
                    Err(error) => {
                        tracing::error!(name, error, "webhook left out: it cannot be read");
                    }
                }
            }
        }
        Self { webhooks }
    }
}

impl Webhook {
    fn read(configuration: &str, value: &Value) -> Result<Self, String> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let wait = value
            .get("timeoutSeconds")
            .and_then(Value::as_u64)
            .unwrap_or(DEFAULT_WAIT);
        let versions = value
            .get("admissionReviewVersions")
            .and_then(Value::as_array);
        let review = versions
            .into_iter()
            .flatten()
            .find_map(|version| match version.as_str() {
                Some("v1") => Some("v1"),
                Some("v1beta1") => Some("v1beta1"),
                _ => None,
            });
        let nothing = Value::Null;
        Ok(Self {
            configuration: configuration.to_owned(),
            name: text("name").to_owned(),
            endpoint: Endpoint::from_config(value.get("clientConfig").unwrap_or(&nothing)),
            matches: Match::read(value, "rules", "")?,
            conditions: Conditions::of_webhook(value.get("matchConditions")).map_err(
                |problems| {
                    let texts: Vec<String> = problems.into_iter().map(|(_, why)| why).collect();
                    texts.join("; ")
                },
            )?,
            fails_open: text("failurePolicy") == "Ignore",
            may_rehearse: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            again: text("reinvocationPolicy") == "IfNeeded",
            wait: Duration::from_secs(wait.clamp(1, LONGEST_WAIT)),
            review: review.unwrap_or("v1"),
        })
    }
}

fn configuration_name(configuration: &Value) -> String {
    let name = configuration.get("metadata").and_then(|m| m.get("name"));
    name.and_then(Value::as_str).unwrap_or_default().to_owned()
}
