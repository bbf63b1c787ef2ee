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
use client::{Client, Discovery, ListOptions};
use futures_util::future::try_join_all;
use interpret::script::Limits;
use interpret::{Engine, Interpreter, Options};
use object::{Object, ResourceType};
use overrides::Overrides;
use policy::Index;

use super::settings::{Presumption, Settings};
use super::{Picture, Versions};
use crate::bystander::Bystander;
use crate::failure::Failure;
use crate::reach::call_failure;

impl Picture {
    /// Reads everything that decides.
    pub(crate) async fn read(
        control: &Client,
        discovery: &Discovery,
        presumed: &Presumption,
    ) -> Result<Self, Failure> {
        Self::read_for(control, discovery, presumed, None).await
    }

    /// The same for somebody who wants to know about one namespace, or about what has none. What this user may not list is
    /// left out, and said.
    pub(crate) async fn read_within(
        control: &Client,
        discovery: &Discovery,
        presumed: &Presumption,
        namespace: &str,
    ) -> Result<Self, Failure> {
        Self::read_for(control, discovery, presumed, Some(namespace)).await
    }

    async fn read_for(
        control: &Client,
        discovery: &Discovery,
        presumed: &Presumption,
        within: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut settings = Settings::read(control, presumed).await?;
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
        let lists = kinds.map(|kind| list_for(control, ResourceType::from(kind), within));
        let lists = try_join_all(lists).await?;
        let unseen = kinds.iter().zip(&lists).filter(|(_, list)| list.is_none());
        settings.doubts.extend(unseen.map(|(kind, _)| {
            let plural = kind.plural;
            format!("this user may not list {plural}, which are left out")
        }));
        let sees_clusters = lists.first().is_some_and(Option::is_some);
        let mut lists = lists.into_iter().map(Option::unwrap_or_default);
        let mut next = || lists.next().unwrap_or_default();
        let mut picture = Self {
            settings,
            priorities,
            policies: Index::default(),
            overrides: Overrides::default(),
            override_keys: Default::default(),
            versions: Versions::of(discovery),
            clusters: Default::default(),
            sees_clusters,
            interpreter: Interpreter::default(),
            customizations: Vec::new(),
            webhooks: Vec::new(),
            unreadable: Vec::new(),
        };
        for list in [next(), next(), next(), next(), next()] {
            for object in &list {
                picture.take(object);
            }
        }
        (picture.customizations, picture.webhooks) = (next(), next());
        picture.learn();
        Ok(picture)
    }

    /// Makes the interpreter anew from what says what objects mean.
    fn learn(&mut self) {
        let options = Options::default();
        let engine = Engine::new(Limits::default(), options, Arc::new(Bystander::new()));
        let (customizations, webhooks) = (&self.customizations, &self.webhooks);
        self.interpreter =
            Interpreter::configured(&Arc::new(engine), customizations, webhooks, None, options);
    }

    /// Takes an object in, in place of the one of the same name, if it is one of those that decide; says whether it is.
    pub(crate) fn take(&mut self, object: &Object) -> bool {
        let result = match object.kind() {
            "ResourceInterpreterCustomization" => {
                replace(&mut self.customizations, object);
                self.learn();
                return true;
            }
            "ResourceInterpreterWebhookConfiguration" => {
                replace(&mut self.webhooks, object);
                self.learn();
                return true;
            }
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

/// Puts an object in place of the one of its name.
fn replace(all: &mut Vec<Object>, object: &Object) {
    all.retain(|known| known.key() != object.key());
    all.push(object.clone());
    all.sort_by_key(Object::key);
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
async fn list(control: &Client, kind: ResourceType) -> Result<Vec<Object>, Failure> {
    let found = list_for(control, kind, None).await?;
    Ok(found.unwrap_or_default())
}

/// The objects of a kind that matter `within` a namespace, or all if none is named; `None` if the user may not list them and
/// can do without.
async fn list_for(
    control: &Client,
    kind: ResourceType,
    within: Option<&str>,
) -> Result<Option<Vec<Object>>, Failure> {
    let options = ListOptions::default();
    let mut listed = control.list_all(&kind, "", &options).await;
    // Policies with a namespace are about what is in it.
    let home = within.filter(|namespace| kind.namespaced && !namespace.is_empty());
    if let (Some(home), Err(error)) = (home, &listed)
        && error.is_forbidden()
    {
        listed = control.list_all(&kind, home, &options).await;
    }
    match listed {
        Ok(list) => Ok(Some(list.items)),
        // Another control plane may not serve every kind.
        Err(error) if error.is_not_found() => Ok(Some(Vec::new())),
        Err(error) if error.is_forbidden() && within.is_some() => Ok(None),
        Err(error) => Err(call_failure(&error)),
    }
}
