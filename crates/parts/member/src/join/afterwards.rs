//! What is left in a member once its Cluster is gone, and whose it is.
//!
//! Somebody deleted the Cluster alone, or the command was stopped half way: nothing in the control plane speaks of the member
//! any more. What joining made there says which control plane made it; only what this one made is taken away.

use api::cluster::Cluster;
use api::names::{member_account, member_role};
use client::{Client, ListOptions};
use object::{Object, ObjectKey};

use crate::join::belongings::Belongings;
use crate::join::identity;
use crate::join::leave::{UnjoinError, UnjoinOptions, Unjoined, call};
use crate::join::member::{MAKER, another, made_for};
use crate::resources;

/// Takes away what joining made in a member whose Cluster is gone.
pub(super) async fn clean_up(
    control: &Client,
    member: &Client,
    options: &UnjoinOptions,
) -> Result<Unjoined, UnjoinError> {
    let role = ObjectKey::cluster(member_role(&options.name));
    let binding = member.get(&resources::cluster_role_bindings(), &role).await;
    // Whom the role is bound to says where the account is, if nobody else does.
    let binding = binding.ok();
    let bound = binding.as_ref().and_then(|binding| {
        let subjects = binding.at(&["subjects"])?;
        subjects.pointer("/0/namespace")?.as_str()
    });
    let options = &options.within(bound);
    let mut found = Vec::new();
    for (resource, key) in made_for(&options.name, options.place()) {
        match member.get_metadata(&resource, &key).await {
            Ok(object) => found.push((format!("{} {key}", resource.kind.kind), object)),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let doing = format!("read {} {key} in the member", resource.kind.kind);
                return Err(call(doing)(error));
            }
        }
    }
    if found.is_empty() {
        return Err(UnjoinError::NotFound(options.name.clone()));
    }
    let id = identity::read_id(member).await;
    let id = id.map_err(|error| UnjoinError::Unknown(Box::new(error)))?;
    let others = Others::of(control, &id, &options.name).await;
    if let Some(why) = found.iter().find_map(|(_, object)| others.doubt(object)) {
        return Err(UnjoinError::Foreign {
            name: options.name.clone(),
            why,
            objects: found.into_iter().map(|(name, _)| name).collect(),
        });
    }
    let mut result = Unjoined::default();
    let belongings = Belongings::survey(member, options, &others).await?;
    let belongings = belongings.with_impersonation(member, options).await?;
    if options.dry_run {
        result.foretold = belongings.foretold();
        return Ok(result);
    }
    belongings.remove(member, options, &mut result).await?;
    Ok(result)
}

/// What tells whose accounts in a member are.
pub(super) struct Others {
    /// Who the control plane is, if that is known.
    own: Option<String>,
    /// The other clusters of the control plane that are the member.
    clusters: Vec<String>,
}

impl Others {
    /// Of the member with an id, beside the cluster that is let go.
    pub(super) async fn of(control: &Client, id: &str, name: &str) -> Self {
        let (resource, all) = (resources::of::<Cluster>(), ListOptions::default());
        let listed = control.list_all(&resource, "", &all).await;
        let listed = listed.map(|list| list.items).unwrap_or_default();
        let is_same = |cluster: &&Object| {
            let found = cluster.text_at(&["spec", "id"]).unwrap_or_default();
            !id.is_empty() && found == id && cluster.name() != name
        };
        let same = listed.iter().filter(is_same);
        Self {
            own: identity::own_id(control).await,
            clusters: same.map(|cluster| cluster.name().to_owned()).collect(),
        }
    }

    /// An account of a member, and who has it.
    pub(super) fn whose(&self, account: &Object) -> String {
        let name = account.name();
        let is_of = |cluster: &&String| member_account(cluster) == name;
        if let Some(cluster) = self.clusters.iter().find(is_of) {
            return format!(
                "the account {name} of cluster {cluster}, as which the same cluster has joined, too"
            );
        }
        match account.annotation(MAKER) {
            None => format!("the account {name}, which may be another control plane's"),
            maker if maker == self.own.as_deref() => {
                format!("the account {name} of a cluster that this control plane no longer has")
            }
            Some(_) => format!("the account {name} of another control plane"),
        }
    }

    /// Why an object in a member is another control plane's, as far as anybody noted whose it is; `None` if it is not.
    pub(super) fn claim(&self, object: &Object) -> Option<String> {
        another(object, self.own.as_deref())?;
        self.doubt(object)
    }

    /// Why an object in a member is not known to be this control plane's; `None` if it is.
    fn doubt(&self, object: &Object) -> Option<String> {
        let Some(own) = &self.own else {
            return Some("the control plane does not say who it is".to_owned());
        };
        match object.annotation(MAKER) {
            None => Some("nobody noted which control plane made what is there for it".to_owned()),
            Some(maker) if maker == own => None,
            Some(maker) => Some(format!(
                "what is there for it was made by another control plane, with the ID {maker}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::object;

    #[test]
    fn an_account_is_told_by_whom_it_was_made_for() {
        let others = Others {
            own: Some("own".to_owned()),
            clusters: vec!["twin".to_owned()],
        };
        for (name, annotations, expected, doubt) in [
            (
                "karmada-twin",
                json!({MAKER: "own"}),
                "the account karmada-twin of cluster twin, as which the same cluster has joined, too",
                None,
            ),
            (
                "karmada-gone",
                json!({MAKER: "own"}),
                "the account karmada-gone of a cluster that this control plane no longer has",
                None,
            ),
            (
                "karmada-a",
                json!({MAKER: "other"}),
                "the account karmada-a of another control plane",
                Some("what is there for it was made by another control plane, with the ID other"),
            ),
            (
                "karmada-a",
                json!({}),
                "the account karmada-a, which may be another control plane's",
                Some("nobody noted which control plane made what is there for it"),
            ),
        ] {
            let account = object(json!({"metadata": {"name": name, "annotations": annotations}}));
            assert_eq!(others.whose(&account), expected);
            assert_eq!(others.doubt(&account).as_deref(), doubt, "{name}");
            let is_noted = account.annotation(MAKER).is_some();
            let claim = doubt.filter(|_| is_noted);
            assert_eq!(others.claim(&account).as_deref(), claim, "{name}");
        }
        let nobody = Others {
            own: None,
            clusters: Vec::new(),
        };
        let account = object(json!({"metadata": {"name": "karmada-a"}}));
        assert!(
            nobody
                .whose(&account)
                .ends_with("may be another control plane's")
        );
        assert!(nobody.doubt(&account).is_some());
    }
}
