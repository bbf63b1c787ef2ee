//! What joining made in a member, and what of it goes when the cluster is let go.
//!
//! It is looked at before anything is deleted, so that what would be done can be told, too.
//!
//! Invariant: what another control plane made stays, and only the very object that was looked at is deleted.

use api::names::{IMPERSONATOR_ACCOUNT, execution_space};
use api::well_known::annotations::WORK_NAMESPACE;
use api::well_known::labels::{SYSTEM, TRUE};
use client::{Client, DeleteOptions, ListOptions};
use object::{Object, ObjectKey, ResourceType};
use telemetry::chain;

use crate::impersonation::ADMINISTRATION;
use crate::join::afterwards::Others;
use crate::join::leave::{UnjoinError, UnjoinOptions, Unjoined, call};
use crate::join::member::made_for;
use crate::resources;

/// What joining made in a member for one cluster.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    /// What goes, in this order.
    pub(super) going: Vec<(ResourceType, Object)>,
    /// What stays, and why, in sentences for people.
    pub(super) staying: Vec<String>,
}

impl Belongings {
    /// Looks at what there is.
    pub(super) async fn survey(
        member: &Client,
        options: &UnjoinOptions,
        others: &Others,
    ) -> Result<Self, UnjoinError> {
        let mut all = Self::default();
        let mut anothers: Option<(String, Vec<String>)> = None;
        for (resource, key) in made_for(&options.name, options.place()) {
            let Some(object) = find(member, &resource, &key).await? else {
                continue;
            };
            match others.claim(&object) {
                None => all.going.push((resource, object)),
                Some(why) => {
                    let (_, names) = anothers.get_or_insert_with(|| (why, Vec::new()));
                    names.push(named(&resource, &object));
                }
            }
        }
        if let Some((why, names)) = anothers {
            let names = names.join(", ");
            all.staying.push(format!("{names} in the member: {why}"));
        }
        all.look_at_namespace(member, options, others).await?;
        Ok(all)
    }

    /// Upstream: the whole namespace goes, and with it the accounts of any other control plane that the cluster has joined,
    /// and whatever it held before. Here it stays as long as it holds another's account, and where joining did not make it.
    async fn look_at_namespace(
        &mut self,
        member: &Client,
        options: &UnjoinOptions,
        others: &Others,
    ) -> Result<(), UnjoinError> {
        let (place, resource) = (options.place(), resources::namespaces());
        let key = ObjectKey::cluster(place);
        let Some(namespace) = find(member, &resource, &key).await? else {
            return Ok(());
        };
        let all = ListOptions::default();
        let accounts = member
            .list_all(&resources::service_accounts(), place, &all)
            .await;
        let accounts = accounts.map_err(call("list the accounts in the member"))?;
        let is_anothers = |account: &&Object| {
            account.name().starts_with("karmada-")
                && account.name() != IMPERSONATOR_ACCOUNT
                && !self.is_going(account)
        };
        if let Some(other) = accounts.items.iter().find(is_anothers) {
            let whose = others.whose(other);
            let why = format!("namespace {place} in the member stays: it holds {whose}");
            self.staying.push(why);
            return Ok(());
        }
        // Joining marks the one it makes, and leaves one that is there as it is.
        if is_made_by_joining(&namespace) {
            self.going.push((resource, namespace));
            return Ok(());
        }
        self.staying.push(format!(
            "namespace {place} in the member stays: it was not made by joining"
        ));
        // The account that all control planes share has nobody left to use it.
        let key = ObjectKey::namespaced(place, IMPERSONATOR_ACCOUNT);
        let accounts = resources::service_accounts();
        if let Some(account) = find(member, &accounts, &key).await?
            && is_made_by_joining(&account)
        {
            let secrets = resources::secrets();
            let secret = find(member, &secrets, &key).await?;
            self.going.extend(secret.map(|secret| (secrets, secret)));
            self.going.push((accounts, account));
        }
        Ok(())
    }

    /// Looks at the rules of impersonation, too, that works brought for a cluster whose works are gone. Those of other
    /// clusters stay.
    pub(super) async fn with_impersonation(
        mut self,
        member: &Client,
        options: &UnjoinOptions,
    ) -> Result<Self, UnjoinError> {
        let space = execution_space(&options.name);
        let all = ListOptions {
            metadata_only: true,
            ..ListOptions::default()
        };
        let mut rules = Vec::new();
        for resource in [
            resources::cluster_role_bindings(),
            resources::cluster_roles(),
            resources::role_bindings(),
            resources::roles(),
        ] {
            let listed = member.list_all(&resource, "", &all).await;
            let doing = || format!("list every {} in the member", resource.kind.kind);
            let listed = listed.map_err(|error| call(doing())(error))?.items;
            let ours = listed.into_iter().filter(|object| {
                [IMPERSONATOR_ACCOUNT, ADMINISTRATION].contains(&object.name())
                    && object.annotation(WORK_NAMESPACE) == Some(&space)
            });
            rules.extend(ours.map(|object| (resource.clone(), object)));
        }
        // First, so that what lets anybody in goes before what is let in.
        rules.append(&mut self.going);
        self.going = rules;
        Ok(self)
    }

    fn is_going(&self, object: &Object) -> bool {
        let mut going = self.going.iter();
        going.any(|(_, going)| going.uid() == object.uid())
    }

    /// What would become of it, in sentences for people.
    pub(super) fn foretold(&self) -> Vec<String> {
        let names: Vec<String> = self
            .going
            .iter()
            .map(|(resource, object)| named(resource, object))
            .collect();
        let mut all = Vec::new();
        if !names.is_empty() {
            let names = names.join(", ");
            all.push(format!("would be deleted in the member too: {names}"));
        }
        let staying = self.staying.iter();
        all.extend(staying.map(|stays| format!("would be left behind: {stays}")));
        all
    }

    /// Takes away what goes. By force the rest goes on where something cannot be deleted.
    pub(super) async fn remove(
        self,
        member: &Client,
        options: &UnjoinOptions,
        result: &mut Unjoined,
    ) -> Result<(), UnjoinError> {
        for (resource, object) in &self.going {
            let deletion = DeleteOptions {
                uid: Some(object.uid().to_owned()),
                ..DeleteOptions::default()
            };
            let what = format!("{} in the member", named(resource, object));
            match member.delete(resource, &object.key(), &deletion).await {
                Ok(_) => {}
                // Somebody else has taken it away, or has put another in its place.
                Err(error) if error.is_not_found() || error.is_conflict() => {}
                Err(error) if options.force => {
                    let why = chain(&error);
                    result.left_behind.push(format!("{what}: {why}"));
                }
                Err(error) => return Err(call(format!("delete {what}"))(error)),
            }
        }
        result.left_behind.extend(self.staying);
        Ok(())
    }
}

fn is_made_by_joining(object: &Object) -> bool {
    object.label(SYSTEM) == Some(TRUE)
}

/// An object of a member, if it is there.
async fn find(
    member: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
) -> Result<Option<Object>, UnjoinError> {
    match member.get_metadata(resource, key).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => {
            let doing = format!("read {} {key} in the member", resource.kind.kind);
            Err(call(doing)(error))
        }
    }
}

fn named(resource: &ResourceType, object: &Object) -> String {
    format!("{} {}", resource.kind.kind, object.key())
}
