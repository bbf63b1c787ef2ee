//! Rules: which pods they are for, and what they say.

use object::{Object, Value};

use crate::behaviour::{Behaviour, Opinion, command};
use crate::read;

/// Rules in the order they are asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Only pods controlled by this kind.
    owner: Option<String>,
    /// Only pods in this namespace.
    namespace: Option<String>,
    /// Only pods with an image that contains this.
    image: Option<String>,
    /// Whether every member has it: then what a command says comes first.
    is_usual: bool,
    opinion: Opinion,
}

/// Why a text is no rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text is not a JSON list of objects.
    #[error("rules must be a JSON list of objects")]
    Shape,
    /// A setting is not known or its value is not understood.
    #[error("rule {rule}: {name}: {value:?} is not understood")]
    Setting {
        /// The rule's place, from 0.
        rule: usize,
        /// The setting.
        name: String,
        /// What it says.
        value: String,
    },
}

/// What every member does unless told otherwise.
const DEFAULTS: &str = include_str!("defaults.json");

impl Rules {
    /// Reads rules from a JSON list. Each is an object of texts: `owner`, `namespace` and `image` say which pods it is
    /// for; the rest is named as the annotations are, without their prefix.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let value: Value = serde_json::from_str(text).map_err(|_| RuleError::Shape)?;
        let list = value.as_array().ok_or(RuleError::Shape)?;
        let rules = list.iter().enumerate().map(|(place, rule)| {
            let fields = rule.as_object().ok_or(RuleError::Shape)?;
            let mut read = Rule::default();
            for (name, value) in fields {
                let misunderstood = || RuleError::Setting {
                    rule: place,
                    name: name.clone(),
                    value: value.to_string(),
                };
                let text = value.as_str().ok_or_else(misunderstood)?;
                match name.as_str() {
                    "owner" => read.owner = Some(text.to_owned()),
                    "namespace" => read.namespace = Some(text.to_owned()),
                    "image" => read.image = Some(text.to_owned()),
                    other => read.opinion.set(other, text).ok_or_else(misunderstood)?,
                }
            }
            Ok(read)
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// The rules every member has.
    #[must_use]
    pub fn defaults() -> Self {
        let mut usual =
            Self::parse(DEFAULTS).expect("invariant: a test reads the rules every member has");
        for rule in &mut usual.rules {
            rule.is_usual = true;
        }
        usual
    }

    /// These rules first, then those.
    #[must_use]
    pub fn before(mut self, later: Self) -> Self {
        self.rules.extend(later.rules);
        self
    }

    /// How a pod behaves.
    pub(crate) fn behaviour(&self, pod: &Object) -> Behaviour {
        let (usual, given): (Vec<&Rule>, Vec<&Rule>) = self
            .rules
            .iter()
            .filter(|rule| rule.is_for(pod))
            .partition(|rule| rule.is_usual);
        let mut opinion = Opinion::of_annotations(pod);
        for rule in given {
            opinion = opinion.or(&rule.opinion);
        }
        opinion = opinion.or(&command::opinion(pod));
        for rule in usual {
            opinion = opinion.or(&rule.opinion);
        }
        opinion.settle()
    }
}

impl Rule {
    fn is_for(&self, pod: &Object) -> bool {
        let owner = read::controller(pod).map_or("", |owner| read::text(owner, "kind"));
        let has_image = |part: &String| {
            read::list(pod, &["spec", "containers"])
                .iter()
                .any(|container| read::text(container, "image").contains(part.as_str()))
        };
        self.owner.as_deref().is_none_or(|wanted| wanted == owner)
            && self
                .namespace
                .as_deref()
                .is_none_or(|wanted| wanted == pod.namespace())
            && self.image.as_ref().is_none_or(has_image)
    }
}
