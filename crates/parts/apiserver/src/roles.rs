//! The roles the control plane adds to Kubernetes' own: for its users, for agents that join, and for its own parts.
//!
//! They are text under `roles/`; `access::roles` says how it reads.

use access::roles::{self, Expected, RolesError};

/// Where the multi-cluster roles say they come from.
const LABEL: &str = "karmada.io/bootstrapping";

const MULTICLUSTER: &str = include_str!("../roles/multicluster.roles");
const IDENTITIES: &str = include_str!("../roles/identities.roles");

/// The group of every part of this process that uses the API.
pub(crate) const COMPONENTS: &str = "system:karavel:components";

/// All roles and bindings a start makes sure of, with those of further tables.
pub(crate) fn expected(further: &[&str]) -> Result<Vec<Expected>, RolesError> {
    let mut all = roles::defaults();
    for table in [MULTICLUSTER, IDENTITIES].iter().chain(further) {
        all.extend(roles::parse(table, LABEL)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

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
