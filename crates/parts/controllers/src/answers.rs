//! What the controllers ask the interpreter.
//!
//! Questions are asked while facts are gathered and enter decisions as data. They are asked of the rules that are in force
//! at that moment: customizations come and go while the process runs.

use std::sync::Arc;

use api::{config::DependentObjectReference, work::v1alpha2::AggregatedStatusItem};
use binding::Needs;
use control::ReconcileError;
use interpret::{InterpretError, Interpreter, KindRef, Operation};
use object::{Object, Value};
use runtime::{Priority, Spawner};
use telemetry::chain;
use tokio::sync::watch;

use crate::bindings::Bindings;

/// How urgent it is to ask again by new rules: less than any change.
pub(crate) const IN_THE_BACKGROUND: Priority = -100;

/// Whether the parts of templates with several kinds of pod are told apart (`MultiplePodTemplatesScheduling`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Components {
    /// They are not looked at.
    #[default]
    Off,
    /// They are.
    On,
}

/// Answers questions about objects; clones follow the same rules.
#[derive(Clone)]
pub struct Answers {
    rules: watch::Receiver<Arc<Interpreter>>,
    components: Components,
}

impl Answers {
    /// Answers by whatever rules the channel holds.
    #[must_use]
    pub fn new(rules: watch::Receiver<Arc<Interpreter>>, components: Components) -> Self {
        Self { rules, components }
    }

    /// Calls `wake` for every binding whenever the rules change: what was asked by the old ones is asked again.
    pub fn on_new_rules(
        &self,
        bindings: &Bindings,
        spawner: &Spawner,
        wake: impl Fn(&Object) + Send + 'static,
    ) {
        let bindings = bindings.clone();
        self.whenever_rules_change(spawner, move || {
            for binding in bindings.all() {
                wake(&binding);
            }
        });
    }

    /// Calls `look` whenever the rules change.
    pub fn whenever_rules_change(&self, spawner: &Spawner, look: impl Fn() + Send + 'static) {
        let mut rules = self.rules.clone();
        spawner.spawn("new rules of interpretation", |stop| async move {
            loop {
                let changed = tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    changed = rules.changed() => changed,
                };
                if changed.is_err() {
                    // Nobody can change them any more.
                    return stop.cancelled().await;
                }
                look();
            }
        });
    }

    /// What a template needs from clusters.
    pub async fn needs(&self, template: &Object) -> Result<Needs, InterpretError> {
        let rules = self.rules();
        let kind = KindRef::of(template);
        if self.components == Components::On && rules.covers(kind, Operation::InterpretComponent) {
            let answer = rules.ask_components(template)?;
            return rules.settle(answer).await.map(Needs::Components);
        }
        if !rules.covers(kind, Operation::InterpretReplica) {
            return Ok(Needs::Unknown);
        }
        let replicas = rules.settle(rules.ask_replicas(template)?).await?;
        Ok(Needs::Replicas {
            count: replicas.replicas,
            each: replicas.requirements,
        })
    }

    /// Whether something is known of how replicas of a template are changed.
    #[must_use]
    pub fn revises(&self, template: &Object) -> bool {
        let kind = KindRef::of(template);
        self.rules().covers(kind, Operation::ReviseReplica)
    }

    /// The template with that number of replicas; `None` if nothing is known of replicas of its kind.
    pub async fn revise(
        &self,
        template: &Object,
        replicas: i32,
    ) -> Result<Option<Object>, InterpretError> {
        let rules = self.rules();
        if !rules.covers(KindRef::of(template), Operation::ReviseReplica) {
            return Ok(None);
        }
        let answer = rules.ask_revise(template, replicas)?;
        rules.settle(answer).await.map(Some)
    }

    /// The next status of a template; `None` if its kind has no rule for it, or nothing changes.
    pub async fn aggregate(
        &self,
        template: &Object,
        items: &[AggregatedStatusItem],
    ) -> Result<Option<Value>, InterpretError> {
        let rules = self.rules();
        if !rules.covers(KindRef::of(template), Operation::AggregateStatus) {
            return Ok(None);
        }
        rules.settle(rules.ask_aggregate(template, items)?).await
    }

    /// What a template refers to; `None` if its kind has no rule for it.
    pub async fn dependencies(
        &self,
        template: &Object,
    ) -> Result<Option<Vec<DependentObjectReference>>, InterpretError> {
        let rules = self.rules();
        if !rules.covers(KindRef::of(template), Operation::InterpretDependency) {
            return Ok(None);
        }
        let answer = rules.ask_dependencies(template)?;
        rules.settle(answer).await.map(Some)
    }

    fn rules(&self) -> Arc<Interpreter> {
        Arc::clone(&self.rules.borrow())
    }
}

/// How a look at an object ends that could not be interpreted: a webhook that was away may answer next time, a script that
/// is wrong stays so until somebody changes it.
pub(crate) fn unanswered(about: &Object, error: InterpretError) -> ReconcileError {
    let doing = format!("cannot interpret {} {}", about.kind(), about.key());
    if error.is_terminal() {
        return ReconcileError::Terminal(format!("{doing}: {}", chain(&error)));
    }
    ReconcileError::Failed {
        doing,
        source: error.into(),
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers")
            .field("components", &self.components)
            .finish_non_exhaustive()
    }
}
