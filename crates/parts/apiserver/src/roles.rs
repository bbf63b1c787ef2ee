//! The roles the control plane adds to Kubernetes' own: for its users, for agents that join, and for its own parts.
//!
//! They are text under `roles/`; `access::roles` says how it reads.

use access::roles::{self, Additions, Expected, RolesError};

/// Where the multi-cluster roles say they come from.
const LABEL: &str = "karmada.io/bootstrapping";

const MULTICLUSTER: &str = include_str!("../roles/multicluster.roles");
const IDENTITIES: &str = include_str!("../roles/identities.roles");

/// The group of every part of this process that uses the API.
pub(crate) const COMPONENTS: &str = "system:karavel:components";

/// All roles and bindings a start makes sure of, with those of further tables.
pub(crate) fn expected(further: &[&str]) -> Result<Vec<Expected>, RolesError> {
    let mut all = roles::defaults();
    for table in [MULTICLUSTER].iter().chain(further) {
        all.extend(roles::parse(table, LABEL)?);
    }
    // An older version may have given its parts more than they need now.
    let own = roles::parse(IDENTITIES, LABEL)?.into_iter();
    all.extend(own.map(|expected| Expected {
        additions: Additions::Go,
        ..expected
    }));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a role gives that could become more: everything of a sort, or leave to give.
    #[test]
    fn only_these_parts_have_a_free_hand() {
        let mut free = Vec::new();
        for role in roles::parse(IDENTITIES, LABEL).unwrap() {
            for rule in role.object["rules"].as_array().into_iter().flatten() {
                let has = |field: &str, words: &[&str]| {
                    let list = rule[field].as_array().into_iter().flatten();
                    let mut list = list.filter_map(|word| word.as_str());
                    list.any(|word| words.contains(&word))
                };
                let leave = ["*", "escalate", "bind", "impersonate", "approve", "sign"];
                let is_free = has("resources", &["*"]) || has("apiGroups", &["*"]);
                if is_free || has("verbs", &leave) {
                    let verbs = rule["verbs"].to_string().replace('"', "");
                    let resources = rule["resources"].to_string().replace('"', "");
                    free.push(format!("{} {verbs} {resources}", role.name));
                }
            }
        }
        assert_eq!(
            free,
            [
                "system:karavel:cache [get,list,watch] [*]",
                "system:karavel:controllers [get,list,patch,watch] [*]",
                "system:karavel:controllers [bind,escalate] [clusterroles,roles]",
                "system:karavel:housekeeping [delete,get,list,patch,watch] [*]",
                "system:karavel:housekeeping [escalate] [clusterroles]",
            ]
        );
    }

    #[test]
    fn our_own_tables_can_be_read_and_every_binding_has_its_role() {
        let all = expected(&[]).unwrap();
        for binding in all
            .iter()
            .filter(|expected| expected.plural.ends_with("bindings"))
        {
            let role = &binding.object["roleRef"];
            let plural = if role["kind"] == "ClusterRole" {
                "clusterroles"
            } else {
                "roles"
            };
            let is_there = all.iter().any(|role_expected| {
                role_expected.plural == plural && role["name"] == role_expected.name.as_str()
            });
            assert!(is_there, "{} binds a role that is there", binding.name);
        }
        assert!(expected(&["nonsense"]).is_err());
    }
}
