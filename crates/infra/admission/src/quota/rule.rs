//! One quota, and whether something more fits into it.

use object::Value;

use crate::amounts::{self, Amounts};

use super::scopes::{self, Scope};
use super::usage::{self, Measured};

/// What a namespace may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// How much of what.
    pub hard: Amounts,
    /// Which objects it is about; all if empty.
    pub(crate) scopes: Vec<Scope>,
}

impl Quota {
    /// Reads a ResourceQuota.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        Self {
            name: name.unwrap_or_default().to_owned(),
            hard: amounts::read(object.pointer("/spec/hard")),
            scopes: scopes::read(object),
        }
    }

    /// Whether an object is among those it is about.
    #[must_use]
    pub fn covers(&self, measured: &Measured) -> bool {
        self.scopes
            .iter()
            .all(|scope| scope.covers(&measured.traits))
    }

    /// Whether it says something about a resource.
    #[must_use]
    pub fn concerns(&self, group: &str, resource: &str) -> bool {
        let mut names = self.hard.keys();
        names.any(|name| usage::resource_of(name) == Some((group, resource)))
    }

    /// Whether an object may take the place of another, or of nothing, where so much is used already. If not, why.
    ///
    /// # Errors
    /// A sentence in Kubernetes' words.
    pub fn check(
        &self,
        before: Option<&Measured>,
        after: &Measured,
        used: &Amounts,
    ) -> Result<(), String> {
        let mut over: Vec<(&str, [object::quantity::Quantity; 3])> = Vec::new();
        for (name, hard) in &self.hard {
            let Some(wanted) = after.amounts.get(name).copied() else {
                continue;
            };
            let had = before.and_then(|before| before.amounts.get(name).copied());
            let more = match had {
                Some(had) => wanted.checked_sub(had).unwrap_or(wanted),
                None => wanted,
            };
            if more.signum() <= 0 {
                continue;
            }
            let used = used.get(name).copied();
            let used = used.unwrap_or_else(|| amounts::pieces(0).with_format(hard.format()));
            if used.checked_add(more).is_none_or(|sum| sum > *hard) {
                over.push((name.as_str(), [more, used, *hard]));
            }
        }
        if over.is_empty() {
            return Ok(());
        }
        let list = |which: usize| {
            let parts = over
                .iter()
                .map(|(name, amounts)| format!("{name}={}", amounts[which]));
            parts.collect::<Vec<_>>().join(",")
        };
        Err(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            self.name,
            list(0),
            list(1),
            list(2)
        ))
    }

    /// Whether the containers of a pod name what it counts. If not, what is missing.
    ///
    /// # Errors
    /// A sentence in Kubernetes' words.
    pub fn check_pod(&self, pod: &Value) -> Result<(), String> {
        match usage::unspecified(pod, &self.hard) {
            Some(missing) => Err(format!("failed quota: {}: {missing}", self.name)),
            None => Ok(()),
        }
    }

    /// Of what is used, the part it counts: everything it names, with nothing for what nobody uses.
    #[must_use]
    pub fn used_of(&self, used: &Amounts) -> Amounts {
        let amounts = self.hard.iter().map(|(name, hard)| {
            let nothing = || amounts::pieces(0).with_format(hard.format());
            let used = used.get(name).copied().unwrap_or_else(nothing);
            (name.clone(), used)
        });
        amounts.collect()
    }
}
