//! Which plugins there are, and which of them are in use.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Assign, Filter, Score, Select, Unheard, groups,
    in_tree::{self, names},
};
use crate::{assign::ShareOut, select::SpreadSelect};

/// A plugin: a name and the steps it takes part in.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// What `--plugins` calls it.
    pub name: Arc<str>,
    /// Refuses clusters.
    pub filter: Option<Arc<dyn Filter>>,
    /// Orders clusters.
    pub score: Option<Arc<dyn Score>>,
    /// Takes the place of the in-tree selection.
    pub select: Option<Arc<dyn Select>>,
    /// Takes the place of the in-tree assignment.
    pub assign: Option<Arc<dyn Assign>>,
}

impl Plugin {
    /// A plugin that takes part in nothing yet.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            filter: None,
            score: None,
            select: None,
            assign: None,
        }
    }

    /// The same, also filtering.
    #[must_use]
    pub fn filtering(self, filter: impl Filter + 'static) -> Self {
        Self {
            filter: Some(Arc::new(filter)),
            ..self
        }
    }

    /// The same, also scoring.
    #[must_use]
    pub fn scoring(self, score: impl Score + 'static) -> Self {
        Self {
            score: Some(Arc::new(score)),
            ..self
        }
    }

    /// The same, selecting in place of the in-tree selection.
    #[must_use]
    pub fn selecting(self, select: impl Select + 'static) -> Self {
        Self {
            select: Some(Arc::new(select)),
            ..self
        }
    }

    /// The same, assigning in place of the in-tree assignment.
    #[must_use]
    pub fn assigning(self, assign: impl Assign + 'static) -> Self {
        Self {
            assign: Some(Arc::new(assign)),
            ..self
        }
    }
}

/// Whether the filters for groups of workloads exist: the gate `WorkloadAffinity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkloadGroups {
    /// They do not.
    #[default]
    Off,
    /// They do.
    On,
}

/// All plugins that can be enabled.
#[derive(Clone, Debug)]
pub struct Registry {
    in_tree: Vec<Plugin>,
    others: BTreeMap<Arc<str>, Plugin>,
}

/// Two plugins have one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a plugin named {0} already exists")]
pub struct NameTaken(pub Arc<str>);

impl Registry {
    /// The plugins that come with the scheduler, in the order they are asked.
    ///
    /// The order is fixed so that the same cluster is always refused for the same reason. Upstream: random for each
    /// process.
    #[must_use]
    pub fn in_tree(groups: WorkloadGroups) -> Self {
        let mut in_tree = vec![
            Plugin::named(names::CLUSTER_AFFINITY)
                .filtering(in_tree::ClusterAffinity)
                .scoring(in_tree::ClusterAffinity),
            Plugin::named(names::TAINT_TOLERATION).filtering(in_tree::TaintToleration),
            Plugin::named(names::API_ENABLEMENT).filtering(in_tree::ApiEnablement),
            Plugin::named(names::SPREAD_CONSTRAINT).filtering(in_tree::SpreadConstraint),
            Plugin::named(names::CLUSTER_EVICTION).filtering(in_tree::ClusterEviction),
            Plugin::named(names::CLUSTER_LOCALITY).scoring(in_tree::ClusterLocality),
        ];
        if groups == WorkloadGroups::On {
            in_tree
                .push(Plugin::named(names::WORKLOAD_AFFINITY).filtering(groups::WorkloadAffinity));
            in_tree.push(
                Plugin::named(names::WORKLOAD_ANTI_AFFINITY)
                    .filtering(groups::WorkloadAntiAffinity),
            );
        }
        Self {
            in_tree,
            others: BTreeMap::new(),
        }
    }

    /// Adds a plugin from outside, unless its name is taken.
    pub fn register(&mut self, plugin: Plugin) -> Result<(), NameTaken> {
        if self.all().any(|known| known.name == plugin.name) {
            return Err(NameTaken(plugin.name));
        }
        self.others.insert(Arc::clone(&plugin.name), plugin);
        Ok(())
    }

    /// The plugins that the values of `--plugins` leave enabled.
    ///
    /// A `*` anywhere starts with all, otherwise with none. Then, from left to right, a name enables and a name after
    /// a minus sign disables. Unknown names mean nothing.
    #[must_use]
    pub fn enable(&self, list: &[impl AsRef<str>]) -> Plugins {
        let mut plugins = Plugins::default();
        for plugin in self.enabled(list) {
            plugins.add(plugin.clone());
        }
        plugins
    }

    /// The names of the plugins that the values of `--plugins` leave enabled, in the order they are asked.
    #[must_use]
    pub fn enabled_names(&self, list: &[impl AsRef<str>]) -> Vec<Arc<str>> {
        let enabled = self.enabled(list).into_iter();
        enabled.map(|plugin| Arc::clone(&plugin.name)).collect()
    }

    fn enabled(&self, list: &[impl AsRef<str>]) -> Vec<&Plugin> {
        let list: Vec<&str> = list.iter().map(AsRef::as_ref).collect();
        let starts_full = list.contains(&"*");
        let mut enabled: BTreeMap<&str, bool> = self
            .all()
            .map(|plugin| (&*plugin.name, starts_full))
            .collect();
        for entry in list {
            let (name, is_on) = entry
                .strip_prefix('-')
                .map_or((entry, true), |name| (name, false));
            if let Some(state) = enabled.get_mut(name) {
                *state = is_on;
            }
        }
        self.all()
            .filter(|plugin| enabled.get(&*plugin.name) == Some(&true))
            .collect()
    }

    fn all(&self) -> impl Iterator<Item = &Plugin> {
        self.in_tree.iter().chain(self.others.values())
    }
}

/// The plugins in use. Cheap to clone, so that one decision may have one more.
#[derive(Clone, Debug)]
pub struct Plugins {
    /// In the order they are asked.
    pub filters: Vec<(Arc<str>, Arc<dyn Filter>)>,
    /// Their scores are added up.
    pub scores: Vec<(Arc<str>, Arc<dyn Score>)>,
    /// Picks among the clusters that passed.
    pub select: Arc<dyn Select>,
    /// Shares the replicas out.
    pub assign: Arc<dyn Assign>,
    /// Those who were asked about this one decision and not heard.
    pub unheard: Vec<Unheard>,
    /// Whether selection or assignment is somebody else's, of whom it is not known what they look at.
    pub(crate) has_foreign_steps: bool,
}

impl Default for Plugins {
    /// No filter and no score, the in-tree selection and assignment.
    fn default() -> Self {
        Self {
            filters: Vec::new(),
            scores: Vec::new(),
            select: Arc::new(SpreadSelect),
            assign: Arc::new(ShareOut),
            unheard: Vec::new(),
            has_foreign_steps: false,
        }
    }
}

impl Plugins {
    /// Adds a plugin after those there are; the last to select or assign is in force.
    pub fn add(&mut self, plugin: Plugin) {
        let Plugin {
            name,
            filter,
            score,
            select,
            assign,
        } = plugin;
        self.filters
            .extend(filter.map(|filter| (Arc::clone(&name), filter)));
        self.scores
            .extend(score.map(|score| (Arc::clone(&name), score)));
        self.has_foreign_steps |= select.is_some() || assign.is_some();
        if let Some(select) = select {
            self.select = select;
        }
        if let Some(assign) = assign {
            self.assign = assign;
        }
    }
}
