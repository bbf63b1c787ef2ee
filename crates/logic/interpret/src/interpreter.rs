//! The one place where questions about objects are asked.

use std::{fmt, sync::Arc};

use api::{
    config::DependentObjectReference,
    work::{
        ResourceHealth,
        v1alpha2::{AggregatedStatusItem, Component},
    },
};
use object::{Object, Value, field::FieldPath, selector::LabelSelector};

use crate::{
    customization::{CustomizationProblem, Customizations},
    error::{InterpretError, RuleError},
    kind::KindRef,
    native::{Native, Options},
    operation::Operation,
    retention,
    rules::{Coverage, Replicas, Rules},
    script::Engine,
    table::Table,
    third_party::ThirdParty,
    webhook::{Courier, HookProblem, Hooks},
};

mod asking;
mod trace;

pub use crate::interpreter::{
    asking::Answer,
    trace::{Candidate, Trace},
};

/// Where a rule comes from; earlier ones go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// A ResourceInterpreterCustomization.
    Customization,
    /// A ResourceInterpreterWebhookConfiguration.
    Webhook,
    /// Rules for other people's kinds that come with the product.
    ThirdParty,
    /// Rules for Kubernetes' own kinds, written in code.
    Native,
}

/// The layers above the native one that are in use.
#[derive(Clone, Default)]
pub struct Layers {
    /// The scripts of customizations.
    pub customization: Option<Arc<dyn Rules>>,
    /// The services that configured webhooks name. They are asked by whoever can wait for the network.
    pub webhook: Option<Arc<Hooks>>,
    /// Who carries questions to those services; without one they cannot be asked.
    pub courier: Option<Arc<dyn Courier>>,
    /// Rules for other people's kinds in the place of those that come with the product.
    pub third_party: Option<Arc<dyn Rules>>,
}

/// Answers questions about objects of any kind.
#[derive(Clone)]
pub struct Interpreter {
    customization: Option<Arc<dyn Rules>>,
    webhook: Option<Arc<Hooks>>,
    courier: Option<Arc<dyn Courier>>,
    third_party: Arc<dyn Rules>,
    native: Table,
    options: Options,
    problems: Problems,
}

/// What the authors of customizations and configurations should know, by the names of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// Of customizations.
    pub customizations: Vec<CustomizationProblem>,
    /// Of configurations of webhooks.
    pub hooks: Vec<HookProblem>,
}

impl Default for Interpreter {
    /// The rules that come with the product, and no others.
    fn default() -> Self {
        Self::new(Layers::default(), Options::default())
    }
}

impl Interpreter {
    /// An interpreter of these layers, the native one below them.
    #[must_use]
    pub fn new(layers: Layers, options: Options) -> Self {
        let third_party = layers.third_party;
        Self {
            customization: layers.customization,
            webhook: layers.webhook,
            courier: layers.courier,
            third_party: third_party.unwrap_or_else(|| Arc::new(ThirdParty::table(options))),
            native: Native::table(options),
            options,
            problems: Problems::default(),
        }
    }

    /// An interpreter by the ResourceInterpreterCustomizations and ResourceInterpreterWebhookConfigurations that users
    /// wrote; [`Interpreter::problems`] has what they should know of them.
    ///
    /// Made anew whenever one of these objects changes; scripts that stay are not compiled again.
    pub fn configured<'a>(
        engine: &Arc<Engine>,
        customizations: impl IntoIterator<Item = &'a Object>,
        webhooks: impl IntoIterator<Item = &'a Object>,
        courier: Option<Arc<dyn Courier>>,
        options: Options,
    ) -> Self {
        let scripts = Customizations::new(Arc::clone(engine), customizations);
        let hooks = Hooks::new(webhooks);
        let problems = Problems {
            customizations: scripts.problems().to_vec(),
            hooks: hooks.problems().to_vec(),
        };
        let layers = Layers {
            customization: Some(Arc::new(scripts)),
            webhook: Some(Arc::new(hooks)),
            courier,
            third_party: None,
        };
        Self {
            problems,
            ..Self::new(layers, options)
        }
    }

    /// What is wrong with the objects it was made of.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Which layer answers, or `None` if no rule is for this.
    #[must_use]
    pub fn layer(&self, kind: KindRef<'_>, operation: Operation) -> Option<Layer> {
        let covers = |rules: &dyn Coverage| rules.covers(kind, operation);
        if let Some(rules) = self.customization.as_deref()
            && covers(rules)
        {
            return Some(Layer::Customization);
        }
        if let Some(hooks) = self.webhook.as_deref()
            && covers(hooks)
        {
            return Some(Layer::Webhook);
        }
        if covers(&*self.third_party) {
            return Some(Layer::ThirdParty);
        }
        self.native.covers(kind, operation).then_some(Layer::Native)
    }

    /// Whether any layer answers.
    #[must_use]
    pub fn covers(&self, kind: KindRef<'_>, operation: Operation) -> bool {
        self.layer(kind, operation).is_some()
    }

    /// How many replicas the template asks for, and what one needs.
    pub fn replicas(&self, template: &Object) -> Result<Replicas, InterpretError> {
        let mut answer = self.ask(template, Operation::InterpretReplica, |rules| {
            rules.replicas(template)
        })?;
        place(&mut answer, self.options, template.namespace());
        Ok(answer)
    }

    /// The kinds of pod in the template, each with its replicas.
    pub fn components(&self, template: &Object) -> Result<Vec<Component>, InterpretError> {
        self.ask(template, Operation::InterpretComponent, |rules| {
            rules.components(template)
        })
    }

    /// A copy of the template with that number of replicas.
    pub fn revise(&self, template: &Object, replicas: i32) -> Result<Object, InterpretError> {
        self.ask(template, Operation::ReviseReplica, |rules| {
            rules.revise(template.clone(), replicas)
        })
    }

    /// The desired object with what its kind's rule takes from the member's.
    pub fn retain(&self, desired: Object, observed: &Object) -> Result<Object, InterpretError> {
        let (layer, rules) = self.rules(KindRef::of(&desired), Operation::Retain)?;
        rules
            .retain(desired, observed)
            .map_err(|source| InterpretError::Rule {
                layer,
                operation: Operation::Retain,
                kind: KindRef::of(observed).to_string(),
                source,
            })
    }

    /// What to write over the member's object: the desired one, with the metadata that lives in the member and, if a
    /// rule is for the kind, what that takes over.
    pub fn retain_all(
        &self,
        desired: &Object,
        observed: &Object,
    ) -> Result<Object, InterpretError> {
        let merged = retention::retain_metadata(desired.clone(), observed);
        if !self.covers(KindRef::of(&merged), Operation::Retain) {
            return Ok(merged);
        }
        self.retain(merged, observed)
    }

    /// The next `.status` of the template, or `None` if nothing is to be written.
    pub fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, InterpretError> {
        let status = self.ask(template, Operation::AggregateStatus, |rules| {
            rules.aggregate(template, items)
        })?;
        Ok(status.filter(|status| template.at(&["status"]) != Some(status)))
    }

    /// The part of the member's status that is carried back; `None` if there is none.
    pub fn reflect(&self, observed: &Object) -> Result<Option<Value>, InterpretError> {
        self.ask(observed, Operation::InterpretStatus, |rules| {
            rules.reflect(observed)
        })
    }

    /// How the member's object is doing. A kind without a rule is healthy as soon as it is there.
    ///
    /// Whoever gets an error reports [`ResourceHealth::Unknown`], and the error beside it.
    pub fn health(&self, observed: &Object) -> Result<ResourceHealth, InterpretError> {
        let answer = self.ask(observed, Operation::InterpretHealth, |rules| {
            rules.is_healthy(observed)
        });
        match answer {
            Ok(true) | Err(InterpretError::NoRule { .. }) => Ok(ResourceHealth::Healthy),
            Ok(false) => Ok(ResourceHealth::Unhealthy),
            Err(error) => Err(error),
        }
    }

    /// What the template refers to, each reference once, sorted by API version, kind, namespace and name.
    pub fn dependencies(
        &self,
        template: &Object,
    ) -> Result<Vec<DependentObjectReference>, InterpretError> {
        self.ask(template, Operation::InterpretDependency, |rules| {
            tidy(rules.dependencies(template)?)
        })
    }

    fn rules(
        &self,
        kind: KindRef<'_>,
        operation: Operation,
    ) -> Result<(Layer, &dyn Rules), InterpretError> {
        let Some(layer) = self.layer(kind, operation) else {
            return Err(InterpretError::NoRule {
                operation,
                kind: kind.to_string(),
            });
        };
        let rules: Option<&dyn Rules> = match layer {
            Layer::Customization => self.customization.as_deref(),
            Layer::ThirdParty => Some(&*self.third_party),
            Layer::Native => Some(&self.native),
            Layer::Webhook => None,
        };
        match rules {
            Some(rules) => Ok((layer, rules)),
            None => Err(InterpretError::Webhook {
                operation,
                kind: kind.to_string(),
            }),
        }
    }

    fn ask<T>(
        &self,
        object: &Object,
        operation: Operation,
        question: impl FnOnce(&dyn Rules) -> Result<T, RuleError>,
    ) -> Result<T, InterpretError> {
        let kind = KindRef::of(object);
        let (layer, rules) = self.rules(kind, operation)?;
        question(rules).map_err(|source| InterpretError::Rule {
            layer,
            operation,
            kind: kind.to_string(),
            source,
        })
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Customization => "customization",
            Self::Webhook => "webhook",
            Self::ThirdParty => "third-party",
            Self::Native => "native",
        })
    }
}

/// Says where the replicas are, if quotas are counted: by namespace, which a rule need not know to say what one needs.
fn place(answer: &mut Replicas, options: Options, namespace: &str) {
    if options.resource_quota_estimate
        && let Some(requirements) = &mut answer.requirements
        && requirements.namespace.is_empty()
    {
        namespace.clone_into(&mut requirements.namespace);
    }
}

/// Each reference once and in order, if all of them can be followed.
fn tidy(
    mut references: Vec<DependentObjectReference>,
) -> Result<Vec<DependentObjectReference>, RuleError> {
    check_references(&references)?;
    // Upstream: native references come from unordered sets, so that the record of them on the binding changes from one
    // run to the next. Sorted, it changes only when the references do.
    references.sort_by(|a, b| reference_key(a).cmp(&reference_key(b)));
    references.dedup();
    Ok(references)
}

/// What references are sorted by; a selector stands in for the name.
fn reference_key(
    reference: &DependentObjectReference,
) -> (&str, &str, &str, &str, Option<&LabelSelector>) {
    (
        &reference.api_version,
        &reference.kind,
        &reference.namespace,
        &reference.name,
        reference.label_selector.as_ref(),
    )
}

fn check_references(references: &[DependentObjectReference]) -> Result<(), RuleError> {
    for (position, reference) in references.iter().enumerate() {
        let missing = if reference.api_version.is_empty() {
            "apiVersion"
        } else if reference.kind.is_empty() {
            "kind"
        } else if reference.name.is_empty() && reference.label_selector.is_none() {
            "name"
        } else {
            continue;
        };
        return Err(RuleError::Value {
            path: FieldPath::new("dependencies")
                .index(position)
                .child(missing),
            problem: match missing {
                "name" => "is required where there is no labelSelector".to_owned(),
                _ => "is required".to_owned(),
            },
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
