//! Who answers a question, and who would otherwise.

use std::fmt;

use crate::{
    interpreter::{Interpreter, Layer},
    kind::KindRef,
    operation::Operation,
    rules::Coverage,
};

/// Everybody who has a rule for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The question.
    pub operation: Operation,
    /// In the order in which layers go; the first answers, and its error is final.
    pub candidates: Vec<Candidate>,
}

/// Somebody who has a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where the rule comes from.
    pub layer: Layer,
    /// The customizations or the webhook, by name. Empty for rules that come with the product.
    pub origin: String,
}

impl Interpreter {
    /// Who answers this question about objects of that kind.
    #[must_use]
    pub fn trace(&self, kind: KindRef<'_>, operation: Operation) -> Trace {
        let sources: [(Layer, Option<&dyn Coverage>); 4] = [
            (
                Layer::Customization,
                self.customization
                    .as_deref()
                    .map(|rules| rules as &dyn Coverage),
            ),
            (
                Layer::Webhook,
                self.webhook.as_deref().map(|hooks| hooks as &dyn Coverage),
            ),
            (Layer::ThirdParty, Some(&*self.third_party)),
            (Layer::Native, Some(&self.native)),
        ];
        let candidates = sources.into_iter().filter_map(|(layer, rules)| {
            let rules = rules.filter(|rules| rules.covers(kind, operation))?;
            let origin = rules.origin(kind, operation).unwrap_or_default();
            Some(Candidate { layer, origin })
        });
        Trace {
            operation,
            candidates: candidates.collect(),
        }
    }
}

impl Trace {
    /// Who answers.
    #[must_use]
    pub fn answered_by(&self) -> Option<&Candidate> {
        self.candidates.first()
    }
}

impl fmt::Display for Trace {
    /// `InterpretHealth: customization widget (before native)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.operation)?;
        let Some((first, others)) = self.candidates.split_first() else {
            return f.write_str("no rule");
        };
        write!(f, "{first}")?;
        for (position, other) in others.iter().enumerate() {
            f.write_str(if position == 0 { " (before " } else { ", " })?;
            write!(f, "{other}")?;
        }
        f.write_str(if others.is_empty() { "" } else { ")" })
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.layer)?;
        if !self.origin.is_empty() {
            write!(f, " {}", self.origin)?;
        }
        Ok(())
    }
}
