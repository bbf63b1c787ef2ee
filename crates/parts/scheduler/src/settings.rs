//! What can be set about a scheduler.

use api::well_known::feature_gates::{FeatureGates, Gate};
use estimate::Models;
use schedule::{
    Components, EmptyWorkloads, Options,
    intake::DEFAULT_SCHEDULER,
    plugin::{NameTaken, Plugin, Plugins, Registry, WorkloadGroups},
};

use crate::{
    estimator::EstimatorSettings,
    queue::Patience,
    recorder::RecorderSettings,
    webhook::{self, Webhook, WebhookSettings},
};

/// How many decisions may be under way at once.
///
/// A decision is mostly waiting for its writes to be stored, and the store syncs once for all that wait: more decisions
/// under way make larger batches, not more syncs.
pub const WORKERS: usize = 64;

/// What can be set about a scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name by which bindings choose it: `--scheduler-name`. Also the source of its events.
    pub name: String,
    /// Which plugins are in use: `--plugins`.
    pub plugins: Vec<String>,
    /// Plugins from outside, beside those that come with the scheduler.
    pub others: Vec<Plugin>,
    /// Plugins outside of the process.
    pub webhooks: Vec<WebhookSettings>,
    /// What changes decisions.
    pub options: Options,
    /// Whether urgent bindings go first: the gate `PriorityBasedScheduling`.
    pub priorities: Priorities,
    /// Whether groups of workloads are heeded: the gate `WorkloadAffinity`.
    pub groups: WorkloadGroups,
    /// Whether room is handed out once: the gate `SchedulingOvercommitProtection`.
    pub overcommit: Overcommit,
    /// How long failed bindings wait.
    pub patience: Patience,
    /// How many decisions may be under way at once.
    pub workers: usize,
    /// Whether and how decisions are recorded.
    pub recorder: Option<RecorderSettings>,
    /// How estimators beside the clusters are asked, if they are: `--enable-scheduler-estimator`.
    pub estimators: Option<EstimatorSettings>,
}

/// Whether urgent bindings go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priorities {
    /// All are alike.
    #[default]
    Ignored,
    /// They do.
    Heeded,
}

/// Whether room that was given to a binding is counted before the cluster reports it as taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overcommit {
    /// Only reports count.
    #[default]
    Possible,
    /// It is counted at once.
    Guarded,
}

/// Why a scheduler cannot be set up like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No binding could choose it.
    #[error("the scheduler needs a name")]
    Nameless,
    /// Nothing would ever be decided.
    #[error("at least one decision must be possible at a time")]
    Idle,
    /// Two plugins have one name.
    #[error(transparent)]
    Plugin(#[from] NameTaken),
}

impl Default for Settings {
    fn default() -> Self {
        Self::with_gates(&FeatureGates::default())
    }
}

impl Settings {
    /// The defaults, with these features on or off.
    #[must_use]
    pub fn with_gates(gates: &FeatureGates) -> Self {
        let choose = |gate, on, off| if gates.is_enabled(gate) { on } else { off };
        let priorities = gates.is_enabled(Gate::PriorityBasedScheduling);
        Self {
            name: DEFAULT_SCHEDULER.to_owned(),
            plugins: vec!["*".to_owned()],
            others: Vec::new(),
            webhooks: Vec::new(),
            options: Options {
                empty_workloads: EmptyWorkloads::default(),
                models: if gates.is_enabled(Gate::CustomizedClusterResourceModeling) {
                    Models::Used
                } else {
                    Models::Ignored
                },
                components: if gates.is_enabled(Gate::MultiplePodTemplatesScheduling) {
                    Components::AsSets
                } else {
                    Components::Apart
                },
                ..Options::default()
            },
            priorities: if priorities {
                Priorities::Heeded
            } else {
                Priorities::Ignored
            },
            groups: choose(
                Gate::WorkloadAffinity,
                WorkloadGroups::On,
                WorkloadGroups::Off,
            ),
            overcommit: if gates.is_enabled(Gate::SchedulingOvercommitProtection) {
                Overcommit::Guarded
            } else {
                Overcommit::Possible
            },
            patience: if priorities {
                Patience::PRIORITIES
            } else {
                Patience::PLAIN
            },
            workers: WORKERS,
            recorder: Some(RecorderSettings::default()),
            estimators: None,
        }
    }

    /// The plugins in use; an error if these settings cannot work.
    pub fn enabled_plugins(&self) -> Result<Plugins, SettingsError> {
        if self.name.is_empty() {
            return Err(SettingsError::Nameless);
        }
        if self.workers == 0 {
            return Err(SettingsError::Idle);
        }
        Ok(self.registry()?.enable(&self.plugins))
    }

    /// The webhooks in use.
    pub(crate) fn enabled_webhooks(&self) -> Result<Vec<Webhook>, SettingsError> {
        let names = self.registry()?.enabled_names(&self.plugins);
        Ok(webhook::enabled(&self.webhooks, &names))
    }

    /// Whether the list of plugins leaves none of them, as a list of those to leave out does that forgets the star.
    pub(crate) fn enables_nothing(&self) -> bool {
        let registry = self.registry();
        registry.is_ok_and(|registry| registry.enabled_names(&self.plugins).is_empty())
    }

    fn registry(&self) -> Result<Registry, SettingsError> {
        let mut registry = Registry::in_tree(self.groups);
        for plugin in &self.others {
            registry.register(plugin.clone())?;
        }
        // What a webhook says is only known when it was asked; until then it is a name.
        for webhook in &self.webhooks {
            registry.register(Plugin::named(&webhook.name))?;
        }
        Ok(registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_become_values() {
        let defaults = Settings::default();
        assert_eq!(defaults.options.models, Models::Used);
        assert_eq!(defaults.patience, Patience::PLAIN);
        assert_eq!(
            (defaults.priorities, defaults.overcommit),
            (Priorities::Ignored, Overcommit::Possible)
        );
        let gates = "PriorityBasedScheduling=true,CustomizedClusterResourceModeling=false,WorkloadAffinity=true";
        let chosen = Settings::with_gates(&gates.parse().unwrap());
        assert_eq!(chosen.options.models, Models::Ignored);
        assert_eq!(chosen.patience, Patience::PRIORITIES);
        assert_eq!(chosen.groups, WorkloadGroups::On);
    }

    #[test]
    fn a_list_that_leaves_no_plugin_is_noticed() {
        for (list, enables_nothing) in [
            ("*", false),
            ("*,-ClusterEviction", false),
            ("ClusterAffinity", false),
            ("-ClusterEviction", true),
            ("ClusterEviction,-ClusterEviction", true),
        ] {
            let settings = Settings {
                plugins: list.split(',').map(str::to_owned).collect(),
                ..Settings::default()
            };
            assert_eq!(settings.enables_nothing(), enables_nothing, "{list}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let check = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.enabled_plugins().unwrap_err().to_string()
        };
        assert_eq!(
            check(|settings| settings.name.clear()),
            "the scheduler needs a name"
        );
        assert_eq!(
            check(|settings| settings.workers = 0),
            "at least one decision must be possible at a time"
        );
        assert_eq!(
            check(|settings| settings.others.push(Plugin::named("ClusterAffinity"))),
            "a plugin named ClusterAffinity already exists"
        );
    }
}
