//! A plugin that holds what somebody outside of the process said beforehand, or that nothing was heard.

use std::{collections::BTreeMap, sync::Arc};

use super::{Filter, Judge, Score, Scorer};
use crate::{cycle::Cycle, decide::Step, reason::Reason};

/// What was said of single clusters; of others nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    by_cluster: BTreeMap<Arc<str>, Opinion>,
}

/// What was said of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    /// Why it is not to be used; `None` lets it be.
    pub refusal: Option<Arc<str>>,
    /// How good it is, from 0 to 100.
    pub score: i64,
}

/// A plugin that was asked about a decision and not heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// What `--plugins` calls it.
    pub plugin: Arc<str>,
    /// Why it was not heard.
    pub why: Arc<str>,
    /// The first step that it should have had a say in, where nothing is decided without it.
    pub ends: Option<Step>,
}

impl Told {
    /// These opinions.
    pub fn new(opinions: impl IntoIterator<Item = (Arc<str>, Opinion)>) -> Self {
        Self {
            by_cluster: opinions.into_iter().collect(),
        }
    }
}

impl Filter for Told {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Judge<'c> {
        Box::new(|_, cluster| {
            let opinion = self.by_cluster.get(&cluster.name);
            match opinion.and_then(|opinion| opinion.refusal.as_ref()) {
                Some(reason) => Err(Reason::Other(Arc::clone(reason))),
                None => Ok(()),
            }
        })
    }
}

impl Score for Told {
    fn begin<'c>(&'c self, _cycle: &'c Cycle<'c>) -> Scorer<'c> {
        Box::new(|_, cluster| {
            let opinion = self.by_cluster.get(&cluster.name);
            Ok(opinion.map_or(0, |opinion| opinion.score))
        })
    }
}
