//! Who is asking, and whether they may.
//!
//! Certificates of the data directory's authority name users. Members of `system:masters` may do everything; the
//! nameless may ask for health and version. Everybody else is refused: finer rules need roles.

use http::Method;
use listen::Peer;
use serve::call::User;
use serve::status::{Status, Subject};

/// The group whose members may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// Whoever shows a certificate is also of this group.
const AUTHENTICATED: &str = "system:authenticated";

/// Paths that are open to the nameless: what probes and clients look at before they log in.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// The user of a connection, if they may make this request.
pub(crate) fn admit(peer: Option<&Peer>, method: &Method, path: &str) -> Result<User, Status> {
    let Some(certified) = peer.and_then(|peer| peer.user.as_ref()) else {
        return if is_open(path) {
            Ok(anonymous())
        } else {
            Err(Status::unauthorized())
        };
    };
    let mut groups = certified.groups.clone();
    groups.push(AUTHENTICATED.to_owned());
    let user = User {
        name: certified.name.clone(),
        groups,
        ..User::default()
    };
    if is_open(path) || user.groups.iter().any(|group| group == MASTERS) {
        return Ok(user);
    }
    let nothing = Subject {
        group: "",
        resource: "",
        name: "",
    };
    let why = format!(
        "User {:?} cannot {} path {path:?}",
        user.name,
        method.as_str().to_lowercase()
    );
    Err(Status::forbidden(nothing, &why))
}

fn is_open(path: &str) -> bool {
    OPEN.iter().any(|open| {
        path == *open
            || path
                .strip_prefix(open)
                .is_some_and(|rest| rest.starts_with('/'))
    })
}

fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}

#[cfg(test)]
mod tests {
    use listen::CertifiedUser;

    use super::*;

    fn verdict(user: Option<(&str, &str)>, path: &str) -> u16 {
        let user = user.map(|(name, group)| CertifiedUser {
            name: name.to_owned(),
            groups: vec![group.to_owned()],
        });
        let peer = Peer {
            address: "127.0.0.1:1".parse().unwrap(),
            user,
        };
        admit(Some(&peer), &Method::GET, path).map_or_else(|status| status.code, |_| 200)
    }

    #[test]
    fn masters_may_everything_the_nameless_almost_nothing() {
        let (master, other) = (Some(("ann", MASTERS)), Some(("bob", "developers")));
        for (user, path, code) in [
            (master, "/api/v1/secrets", 200),
            (master, "/readyz", 200),
            (other, "/api/v1/secrets", 403),
            (other, "/version", 200),
            (None, "/readyz", 200),
            (None, "/readyz/ping", 200),
            (None, "/version", 200),
            (None, "/versions", 401),
            (None, "/api", 401),
            (None, "/api/v1/namespaces", 401),
        ] {
            assert_eq!(verdict(user, path), code, "{user:?} {path}");
        }
    }
}
