//! What an agent may not do although roles give it.
//!
//! Roles cannot say which objects somebody may create, nor know how a cluster was joined. So every request of an agent is
//! looked at again: it writes its own Cluster, Leases and Secrets and no others, it does nothing for a cluster that was
//! joined without an agent, and it is not shown what is in the Secrets of its cluster: whoever joins the cluster without it
//! puts the member's token there before there is a Cluster by which to know that. Upstream: Kubernetes confines kubelets so
//! (`NodeRestriction`), and Karmada's agents are not confined.

use access::attempt::What;
use access::{Admitted, Refused};
use api::cluster::sync_mode;
use api::names::{CLUSTER_NAMESPACE, SYSTEM_NAMESPACE, impersonation_secret};
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use object::Value;
use serve::body::Body;
use serve::call::{Admission, Call, Verdict, at_once};
use serve::server::Server;
use serve::status::Status;
use serve::target::ResourceTarget;

use super::{CLUSTERS, cluster_of_agent, election, is_an_agents, registered};

/// The patches that can copy what their author cannot read.
const COPYING_PATCH: &str = "application/json-patch+json";
/// What may be in a Secret of an agent: anything, and nothing that the server fills in.
const PLAIN: &str = "Opaque";

/// Judges what agents write.
pub(crate) struct Confinement;

impl Admission for Confinement {
    fn validate<'a>(
        &'a self,
        call: &'a Call,
        _: Option<&'a Value>,
        new: Option<&'a Value>,
    ) -> Verdict<'a> {
        let own = cluster_of_agent(&call.user).filter(|_| call.target.subresource.is_empty());
        let problem = own.zip(new).and_then(|(own, new)| {
            let problem = problem(&call.target, own, new)?;
            Some(Status::forbidden(call.subject_of(new), &problem))
        });
        at_once(problem.map_or_else(|| Ok(Vec::new()), Err))
    }
}

/// What is wrong about the agent of a cluster writing an object.
fn problem(target: &ResourceTarget, own: &str, new: &Value) -> Option<String> {
    let place = (&*target.group, &*target.resource, &*target.namespace);
    let names = match place {
        (group, plural, _) if (group, plural) == CLUSTERS => vec![own.to_owned()],
        ("coordination.k8s.io", "leases", CLUSTER_NAMESPACE) => vec![own.to_owned()],
        ("coordination.k8s.io", "leases", SYSTEM_NAMESPACE) => vec![election(own)],
        ("", "secrets", CLUSTER_NAMESPACE) => vec![own.to_owned(), impersonation_secret(own)],
        _ => return None,
    };
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    if !names.iter().any(|own| own == name) {
        let (names, plural) = (names.join(" and "), &target.resource);
        return Some(format!(
            "the agent of cluster {own} may write {names} of the {plural} here"
        ));
    }
    if target.resource == "secrets" && new["type"] != PLAIN {
        return Some(format!("an agent's secrets are of the type {PLAIN}"));
    }
    if target.resource == CLUSTERS.1 && !is_an_agents(new) {
        let mode = sync_mode::PULL;
        return Some(format!("an agent's cluster has the syncMode {mode}"));
    }
    None
}

/// Refuses what a request of an agent must not get as far as being read for.
pub(crate) fn confine(
    server: &Server,
    admitted: Admitted,
    headers: &HeaderMap,
) -> Result<Admitted, Box<Refused>> {
    let Some(own) = cluster_of_agent(&admitted.user) else {
        return Ok(admitted);
    };
    let is_anothers = registered(server, own).is_some_and(|found| !is_an_agents(&found.value()));
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let copies = kind.is_some_and(|kind| kind.starts_with(COPYING_PATCH.as_bytes()));
    let why = if is_anothers {
        "the cluster was joined without an agent"
    } else if copies && is_shown_no_data(&admitted) {
        "agents change secrets by merging"
    } else {
        return Ok(admitted);
    };
    Err(Box::new(Refused {
        status: admitted.attempt.forbidden(&admitted.user, why),
        user: Some(admitted.user),
        sender: admitted.sender,
        denied: Some(why.to_owned()),
    }))
}

/// Whether a request is an agent's for a Secret that may not be its own.
pub(crate) fn is_shown_no_data(admitted: &Admitted) -> bool {
    let What::Resource(target) = &admitted.attempt.what else {
        return false;
    };
    let is_creation = admitted.attempt.verb == "create";
    let is_secret = target.group.is_empty() && target.resource == "secrets";
    is_secret && !is_creation && cluster_of_agent(&admitted.user).is_some()
}

/// An answer in JSON with a Secret, of which only who and what it is remains. Whoever applies Secrets with kubectl has
/// what is in them in an annotation too.
pub(crate) fn without_data(response: Response<Body>) -> Response<Body> {
    if !response.status().is_success() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    let document = match &body {
        Body::Whole(bytes) => serde_json::from_slice::<Value>(bytes).ok(),
        Body::Stream(_) => None,
    };
    let shown = document.map_or_else(Bytes::new, |document| bare(&document).to_string().into());
    Response::from_parts(head, Body::Whole(shown))
}

/// Who and what a Secret is; of a table, its cells too, which tell how much is in a Secret and nothing of it.
fn bare(document: &Value) -> Value {
    let mut shown = object::Map::new();
    for (name, field) in document.as_object().into_iter().flatten() {
        let field = match (name.as_str(), field) {
            ("kind" | "apiVersion" | "type" | "columnDefinitions" | "cells", field) => {
                field.clone()
            }
            ("metadata", Value::Object(metadata)) => {
                let metadata = metadata.iter().filter(|(name, _)| *name != "annotations");
                Value::Object(metadata.map(|(k, v)| (k.clone(), v.clone())).collect())
            }
            ("rows", Value::Array(rows)) => rows.iter().map(bare).collect(),
            ("object", Value::Object(_)) => bare(field),
            _ => continue,
        };
        shown.insert(name.clone(), field);
    }
    Value::Object(shown)
}
