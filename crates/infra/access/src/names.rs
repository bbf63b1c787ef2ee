//! Names that mean something to every Kubernetes API.

use serve::call::User;

/// The group whose members may do everything, whatever the rules say.
pub const MASTERS: &str = "system:masters";
/// Everybody who said who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Who somebody is who does not say.
pub const ANONYMOUS: &str = "system:anonymous";
/// Every service account.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// The server itself, when it writes what every API has.
pub const APISERVER: &str = "system:apiserver";
/// The group of RBAC's kinds.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Somebody who does not say who they are.
#[must_use]
pub fn anonymous() -> User {
    User {
        name: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// The server itself, who may do everything.
#[must_use]
pub fn apiserver() -> User {
    User {
        name: APISERVER.to_owned(),
        groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// A part of this process that asks under a name of its own and may do what roles give to that name.
#[must_use]
pub fn component(name: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec![AUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// The user name of a service account.
#[must_use]
pub fn service_account_user(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups of a service account, without the one of everybody.
#[must_use]
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![
        SERVICE_ACCOUNTS.to_owned(),
        format!("{SERVICE_ACCOUNTS}:{namespace}"),
    ]
}

/// The namespace and name in a service account's user name.
#[must_use]
pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let is_valid = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
    is_valid.then_some((namespace, name))
}

/// Whether a user may do everything.
#[must_use]
pub fn is_master(user: &User) -> bool {
    user.groups.iter().any(|group| group == MASTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_account_names_come_apart_again() {
        for (user, expected) in [
            ("system:serviceaccount:shop:till", Some(("shop", "till"))),
            ("system:serviceaccount:shop:", None),
            ("system:serviceaccount::till", None),
            ("system:serviceaccount:a:b:c", None),
            ("system:serviceaccounts:shop", None),
            ("till", None),
        ] {
            assert_eq!(split_service_account(user), expected, "{user}");
        }
        assert_eq!(
            service_account_user("shop", "till"),
            "system:serviceaccount:shop:till"
        );
    }
}
