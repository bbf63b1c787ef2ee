//! Reading the control plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::Cluster;
use api::policy::{
    ClusterOverridePolicy, ClusterPropagationPolicy, OverridePolicy, PropagationPolicy,
};
use api::read::read;
use api::registry;
use api::well_known::feature_gates::Gate;
use client::{Client, ListOptions};
use futures_util::future::try_join_all;
use interpret::script::{Limits, Secluded};
use interpret::{Engine, Interpreter, Options};
use object::{Object, ResourceType};
use overrides::Overrides;
use policy::Index;

use super::Picture;
use super::settings::{Presumption, Settings};
use crate::failure::Failure;
use crate::reach::call_failure;

impl Picture {
    /// Reads everything that decides.
    pub(crate) async fn read(control: &Client, presumed: &Presumption) -> Result<Self, Failure> {
        let settings = Settings::read(control, presumed).await?;
        let priorities = match settings.gates.is_enabled(Gate::PriorityBasedScheduling) {
            true => priorities(control).await?,
            false => BTreeMap::new(),
        };
        let kinds = [
            &registry::CLUSTER,
            &registry::PROPAGATION_POLICY,
            &registry::CLUSTER_PROPAGATION_POLICY,
            &registry::OVERRIDE_POLICY,
            &registry::CLUSTER_OVERRIDE_POLICY,
            &registry::RESOURCE_INTERPRETER_CUSTOMIZATION,
            &registry::RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATION,
        ];
        let lists = kinds.map(|kind| list(control, ResourceType::from(kind)));
        let mut lists = try_join_all(lists).await?.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        let mut picture = Self {
            settings,
            priorities,
            policies: Index::default(),
            overrides: Overrides::default(),
            override_keys: Default::default(),
            clusters: Default::default(),
            interpreter: Interpreter::default(),
            unreadable: Vec::new(),
        };
        for list in [next(), next(), next(), next(), next()] {
            for object in &list {
                picture.take(object);
            }
        }
        let (customizations, webhooks) = (next(), next());
        let options = Options::default();
        let engine = Engine::new(Limits::default(), options, Arc::new(Secluded));
        picture.interpreter =
            Interpreter::configured(&Arc::new(engine), &customizations, &webhooks, None, options);
        Ok(picture)
    }

    /// Takes an object in, in place of the one of the same name, if it is one of those that decide; says whether it is.
    pub(crate) fn take(&mut self, object: &Object) -> bool {
        let result = match object.kind() {
            "Cluster" => read::<Cluster>(object).map(|cluster| {
                self.clusters.insert(object.name().to_owned(), cluster);
            }),
            "PropagationPolicy" => read::<PropagationPolicy>(object)
                .map(|read| drop(self.policies.insert(policy::Policy::from(&read)))),
            "ClusterPropagationPolicy" => read::<ClusterPropagationPolicy>(object)
                .map(|read| drop(self.policies.insert(policy::Policy::from(&read)))),
            "OverridePolicy" => read::<OverridePolicy>(object).map(|read| {
                self.override_keys.insert(object.key());
                self.overrides.insert(overrides::Policy::from(&read));
            }),
            "ClusterOverridePolicy" => read::<ClusterOverridePolicy>(object).map(|read| {
                self.override_keys.insert(object.key());
                self.overrides.insert(overrides::Policy::from(&read));
            }),
            _ => return false,
        };
        if let Err(error) = result {
            let what = format!("{} {}: {error}", object.kind(), object.key());
            self.unreadable.push(what);
        }
        true
    }
}

/// The numbers of all priority classes.
async fn priorities(control: &Client) -> Result<BTreeMap<String, i32>, Failure> {
    let (group, plural) = ("scheduling.k8s.io", "priorityclasses");
    let kind = ResourceType::cluster(group, "v1", "PriorityClass", plural);
    let number = |class: &Object| {
        let number = i32::try_from(class.integer_at(&["value"])?).ok()?;
        Some((class.name().to_owned(), number))
    };
    Ok(list(control, kind)
        .await?
        .iter()
        .filter_map(number)
        .collect())
}

/// All objects of a kind.
pub(super) async fn list(control: &Client, kind: ResourceType) -> Result<Vec<Object>, Failure> {
    let listed = control.list_all(&kind, "", &ListOptions::default()).await;
    match listed {
        Ok(list) => Ok(list.items),
        // Another control plane may not serve every kind.
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(call_failure(&error)),
    }
}
