//! The layer of ResourceInterpreterWebhookConfigurations: which service is asked what, and how its answer is read.
//!
//! Nothing here talks to a service. [`Interpreter`](crate::Interpreter) answers a question with a
//! [`WebhookCall`], which says where to send what ([`Endpoint`], [`WebhookCall::question`]) and makes sense of what comes
//! back ([`WebhookCall::read`]); a [`Courier`] from outside carries both.
//!
//! Of all services whose rules match, the first by `<configuration>/<webhook>` is asked, and no other if it fails.

mod call;
mod courier;
mod endpoint;

use std::{sync::Arc, time::Duration};

use api::config::{
    ResourceInterpreterWebhook, ResourceInterpreterWebhookConfiguration, RuleWithOperations,
};
use object::Object;

pub use crate::webhook::{
    call::{WebhookCall, WebhookProblem},
    courier::{Courier, Question, Reply},
    endpoint::{Endpoint, EndpointError},
};

pub(crate) use crate::webhook::call::{Flaw, patched, required};

use crate::{kind::KindRef, operation::Operation, rules::Coverage};

/// The services that all configurations name.
#[derive(Default)]
pub struct Hooks {
    /// Sorted by [`Hook::id`].
    hooks: Vec<Arc<Hook>>,
    problems: Vec<HookProblem>,
}

/// One service and what it is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    configuration: String,
    webhook: ResourceInterpreterWebhook,
}

/// A configuration that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProblem {
    /// The name of the configuration.
    pub configuration: String,
    /// What is wrong with it.
    pub message: String,
}

/// How long an answer may take where nothing is said.
/// Upstream: without an end, though its API promises this.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// In a rule, everything.
const ANY: &str = "*";

impl Hooks {
    /// The layer that these objects make.
    ///
    /// One that cannot be read is left out, and reported by [`Hooks::problems`].
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut layer = Self::default();
        for object in objects {
            let configuration = match object.read::<ResourceInterpreterWebhookConfiguration>() {
                Ok(configuration) => configuration,
                Err(error) => {
                    layer.problems.push(HookProblem {
                        configuration: object.name().to_owned(),
                        message: error.to_string(),
                    });
                    continue;
                }
            };
            let name = &configuration.metadata.name;
            layer
                .hooks
                .extend(configuration.webhooks.into_iter().map(|webhook| {
                    Arc::new(Hook {
                        configuration: name.clone(),
                        webhook,
                    })
                }));
        }
        layer.hooks.sort_by_cached_key(|hook| hook.id());
        layer
            .problems
            .sort_by(|a, b| a.configuration.cmp(&b.configuration));
        layer
    }

    /// The service that is asked.
    #[must_use]
    pub fn hook(&self, kind: KindRef<'_>, operation: Operation) -> Option<&Arc<Hook>> {
        let is_asked = |hook: &&Arc<Hook>| {
            let rules = &hook.webhook.rules;
            rules.iter().any(|rule| matches(rule, kind, operation))
        };
        self.hooks.iter().find(is_asked)
    }

    /// What the authors of the configurations should know, by the names of these.
    #[must_use]
    pub fn problems(&self) -> &[HookProblem] {
        &self.problems
    }
}

impl Hook {
    /// `<configuration>/<webhook>`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.configuration, self.webhook.name)
    }

    /// Where the service is.
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        Endpoint::of(&self.webhook.client_config)
    }

    /// The certificates that the service's is checked against, PEM in base64; `None` for the system's.
    #[must_use]
    pub fn authorities(&self) -> Option<&str> {
        self.webhook
            .client_config
            .ca_bundle
            .as_deref()
            .filter(|bundle| !bundle.is_empty())
    }

    /// How long an answer may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let seconds = self.webhook.timeout_seconds.map(u64::try_from);
        match seconds {
            Some(Ok(seconds)) if seconds > 0 => Duration::from_secs(seconds),
            _ => DEFAULT_TIMEOUT,
        }
    }

    /// Whether it understands the questions we can write.
    fn understands(&self, version: &str) -> bool {
        let versions = &self.webhook.interpreter_context_versions;
        versions.iter().any(|known| known == version)
    }
}

impl Coverage for Hooks {
    fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        self.hook(kind, operation).is_some()
    }

    fn origin(&self, kind: KindRef<'_>, operation: Operation) -> Option<String> {
        self.hook(kind, operation).map(|hook| hook.id())
    }
}

fn matches(rule: &RuleWithOperations, kind: KindRef<'_>, operation: Operation) -> bool {
    let has = |list: &[String], wanted: &str| list.iter().any(|item| item == ANY || item == wanted);
    has(&rule.operations, operation.as_str())
        && has(&rule.api_groups, kind.group())
        && has(&rule.api_versions, kind.version())
        && has(&rule.kinds, kind.kind)
}

#[cfg(test)]
mod tests;
