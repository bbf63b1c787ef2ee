//! What somebody attempts, in the words of roles: a verb on a resource, or a method on a path.

use std::borrow::Cow;
use std::fmt;

use http::Method;
use object::selector::FieldSelector;
use serve::call::User;
use serve::options::Params;
use serve::status::{Status, Subject};
use serve::target::{ResourceTarget, Target, Verb};

/// One thing somebody attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What is to be done, such as `list`, `impersonate` or, on a path, `get`.
    pub verb: Cow<'static, str>,
    /// With what.
    pub what: What,
}

/// What an attempt is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Resources.
    Resource(ResourceTarget),
    /// A path that is no resource.
    Path(String),
}

impl Attempt {
    /// An attempt on a resource.
    #[must_use]
    pub fn on(verb: &'static str, target: ResourceTarget) -> Self {
        Self {
            verb: Cow::Borrowed(verb),
            what: What::Resource(target),
        }
    }

    /// Reads the head of a request the way Kubernetes does for its rules.
    pub fn read(method: &Method, path: &str, query: &str) -> Result<Self, Status> {
        let (target, old_watch) =
            Target::parse(path).map_err(|error| Status::bad_request(error.to_string()))?;
        let mut target = match target {
            Target::Resource(target) => target,
            Target::Path(path) => {
                let verb = match *method {
                    Method::GET => Cow::Borrowed("get"),
                    _ => Cow::Owned(method.as_str().to_ascii_lowercase()),
                };
                return Ok(Self {
                    verb,
                    what: What::Path(path),
                });
            }
        };
        // Upstream: a call on a namespace counts as one inside it, so that roles given there reach it.
        if target.resource == "namespaces" && target.group.is_empty() && target.namespace.is_empty()
        {
            target.namespace.clone_from(&target.name);
        }
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let mut watches = old_watch;
        if !query.is_empty() && (is_read || *method == Method::DELETE) {
            let params = Params::parse(query)?;
            watches |= is_read && target.subresource.is_empty() && is_true(params.text("watch"));
            if target.name.is_empty() {
                target.name = name_selected(params.text("fieldSelector"));
                let verb = match (is_read, watches) {
                    (true, true) => "watch",
                    (true, false) => "list",
                    (false, _) => "deletecollection",
                };
                return Ok(Self::on(verb, target));
            }
        }
        let verb = Verb::of(method, &target, watches).map_or_else(
            || Cow::Owned(method.as_str().to_ascii_lowercase()),
            |verb| Cow::Borrowed(verb.as_str()),
        );
        Ok(Self {
            verb,
            what: What::Resource(target),
        })
    }

    /// The refusal of this attempt, in the words clients know.
    #[must_use]
    pub fn forbidden(&self, user: &User, why: &str) -> Status {
        let mut text = format!("User {:?} cannot {self}", user.name)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        if !why.is_empty() {
            text.push_str(": ");
            text.push_str(why);
        }
        let subject = match &self.what {
            What::Resource(target) => Subject {
                group: &target.group,
                resource: &target.resource,
                name: &target.name,
            },
            What::Path(_) => Subject {
                group: "",
                resource: "",
                name: "",
            },
        };
        Status::forbidden(subject, &text)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &self.what {
            What::Path(path) => return write!(f, "{} path {path:?}", self.verb),
            What::Resource(target) => target,
        };
        let part = if target.subresource.is_empty() {
            String::new()
        } else {
            format!("/{}", target.subresource)
        };
        write!(
            f,
            "{} resource \"{}{part}\" in API group {:?} ",
            self.verb, target.resource, target.group
        )?;
        match target.namespace.as_str() {
            "" => f.write_str("at the cluster scope"),
            namespace => write!(f, "in the namespace {namespace:?}"),
        }
    }
}

fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// The one name a field selector leaves, if it does: rules may allow a list of just that object.
fn name_selected(selector: &str) -> String {
    let selector: Option<FieldSelector> = selector.parse().ok();
    let name = selector
        .as_ref()
        .and_then(|s| s.exact_value("metadata.name"));
    name.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_rules_see_them() {
        for (method, path, query, expected) in [
            (
                "GET",
                "/api/v1/pods",
                "",
                "list resource \"pods\" in API group \"\" at the cluster scope",
            ),
            (
                "GET",
                "/apis/apps/v1/namespaces/y/deployments",
                "watch=true",
                "watch resource \"deployments\" in API group \"apps\" in the namespace \"y\"",
            ),
            (
                "GET",
                "/api/v1/namespaces/y",
                "",
                "get resource \"namespaces\" in API group \"\" in the namespace \"y\"",
            ),
            (
                "PUT",
                "/api/v1/namespaces/y/status",
                "",
                "update resource \"namespaces/status\" in API group \"\" in the namespace \"y\"",
            ),
            (
                "DELETE",
                "/api/v1/namespaces/y/secrets",
                "labelSelector=a",
                "deletecollection resource \"secrets\" in API group \"\" in the namespace \"y\"",
            ),
            (
                "POST",
                "/api/v1/namespaces/y/serviceaccounts/default/token",
                "",
                "create resource \"serviceaccounts/token\" in API group \"\" in the namespace \"y\"",
            ),
            (
                "GET",
                "/apis/cluster.example/v1/clusters/m1/proxy/api",
                "watch=true",
                "get resource \"clusters/proxy\" in API group \"cluster.example\" at the cluster scope",
            ),
            ("GET", "/healthz", "", "get path \"/healthz\""),
            ("POST", "/metrics", "", "post path \"/metrics\""),
            (
                "OPTIONS",
                "/api/v1/pods",
                "",
                "options resource \"pods\" in API group \"\" at the cluster scope",
            ),
        ] {
            let method: Method = method.parse().unwrap();
            let attempt = Attempt::read(&method, path, query).unwrap();
            assert_eq!(attempt.to_string(), expected, "{method} {path}?{query}");
        }
    }

    #[test]
    fn a_list_of_one_name_is_judged_by_that_name() {
        for (selector, name) in [
            ("metadata.name%3Dweb", "web"),
            ("metadata.name%3D%3Dweb,status.phase%3DRunning", "web"),
            ("metadata.name!%3Dweb", ""),
            ("spec.nodeName%3Dn", ""),
        ] {
            let query = format!("fieldSelector={selector}");
            let attempt = Attempt::read(&Method::GET, "/api/v1/pods", &query).unwrap();
            let What::Resource(target) = attempt.what else {
                panic!("{selector} is a resource");
            };
            assert_eq!(target.name, name, "{selector}");
        }
    }

    #[test]
    fn refusals_are_in_the_words_clients_know() {
        let user = User {
            name: "x".to_owned(),
            ..User::default()
        };
        for (path, why, message) in [
            (
                "/apis/apps/v1/namespaces/y/deployments",
                "",
                "deployments.apps is forbidden: User \"x\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"y\"",
            ),
            (
                "/api/v1/nodes/n",
                "",
                "nodes \"n\" is forbidden: User \"x\" cannot get resource \"nodes\" in API group \"\" at the cluster scope",
            ),
            (
                "/api/v1/namespaces/y/pods/p/log",
                "RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found",
                "pods \"p\" is forbidden: User \"x\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"y\": RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found",
            ),
            (
                "/metrics",
                "",
                "forbidden: User \"x\" cannot get path \"/metrics\"",
            ),
        ] {
            let status = Attempt::read(&Method::GET, path, "")
                .unwrap()
                .forbidden(&user, why);
            assert_eq!((status.code, status.message.as_str()), (403, message));
        }
    }
}
