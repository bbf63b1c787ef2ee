//! `pods/eviction`: a deletion that budgets may refuse.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use object::Object;
use serde_json::json;
use serve::body::{self, Body};
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::intake;
use serve::server::Server;
use serve::status::{Cause, Status};

use crate::engine::engine_user;
use crate::read;

/// Answers evictions.
pub(crate) struct Eviction;

const BUDGETS: &str = "policy/poddisruptionbudgets";

impl Handler for Eviction {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(evict(server, call, asked))
    }
}

async fn evict(server: &Server, call: &Call, asked: Asked) -> Result<Response<Body>, Status> {
    let encoding = asked.answer.encoding;
    let (content, bytes) = asked.document().await?;
    let (eviction, _) = intake::decode(content, &bytes)?;
    let (namespace, name) = (&call.target.namespace, &call.target.name);
    let record = server
        .cache()
        .collection("core/pods")
        .find(&serve::cache::object_key(namespace, name))
        .ok_or_else(|| Status::not_found(call.subject()))?;
    let pod = Object::from_value(record.value()).map_err(|_| Status::not_found(call.subject()))?;
    let options = eviction.get("deleteOptions").cloned();
    let is_rehearsal = options
        .as_ref()
        .is_some_and(|options| !read::items(options, "dryRun").is_empty());
    let needs_budget = !read::has_ended(&pod) && !pod.is_terminating() && read::is_ready(&pod);
    if needs_budget {
        spend(server, &pod, is_rehearsal).await?;
    }
    let mut options = options.unwrap_or_else(|| json!({}));
    if let Some(fields) = options.as_object_mut() {
        let conditions = fields.entry("preconditions").or_insert_with(|| json!({}));
        if let Some(conditions) = conditions.as_object_mut() {
            conditions.insert("uid".to_owned(), json!(pod.uid()));
        }
    }
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let request = Request::delete(path)
        .body(Full::new(Bytes::from(options.to_string())))
        .map_err(|error| Status::bad_request(error.to_string()))?;
    let deleted = server.answer(call.user.clone(), request).await;
    if !deleted.status().is_success() {
        return Ok(deleted);
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    Ok(body::value(StatusCode::CREATED, encoding, &status))
}

/// Takes one disruption from the budget of a pod, if it has one.
async fn spend(server: &Server, pod: &Object, is_rehearsal: bool) -> Result<(), Status> {
    let snapshot = server.cache().collection(BUDGETS).snapshot();
    let budgets: Vec<Object> = snapshot
        .objects
        .values()
        .filter(|record| *record.head().namespace == *pod.namespace())
        .filter_map(|record| Object::from_value(record.value()).ok())
        .filter(|budget| {
            read::selector(budget.at(&["spec", "selector"]))
                .is_some_and(|selector| read::selects(&selector, pod))
        })
        .collect();
    if budgets.len() > 1 {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Status::internal(why, None));
    }
    let Some(budget) = budgets.first() else {
        return Ok(());
    };
    let allowed = budget
        .integer_at(&["status", "disruptionsAllowed"])
        .unwrap_or(0);
    if allowed <= 0 {
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        let mut status = Status::too_many_requests(why, 0);
        status.details.causes.push(Cause {
            reason: "DisruptionBudget".to_owned(),
            message: format!(
                "The disruption budget {} needs {} healthy pods and has {} currently",
                budget.name(),
                budget
                    .integer_at(&["status", "desiredHealthy"])
                    .unwrap_or(0),
                budget
                    .integer_at(&["status", "currentHealthy"])
                    .unwrap_or(0),
            ),
            field: String::new(),
        });
        return Err(status);
    }
    if is_rehearsal {
        return Ok(());
    }
    let patch = json!({
        "metadata": {"resourceVersion": budget.resource_version()},
        "status": {"disruptionsAllowed": allowed - 1},
    });
    let path = format!(
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{}/status",
        budget.namespace(),
        budget.name()
    );
    let request = Request::patch(path)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Full::new(Bytes::from(patch.to_string())))
        .map_err(|error| Status::bad_request(error.to_string()))?;
    let spent = server.answer(engine_user(), request).await;
    if spent.status().is_success() {
        return Ok(());
    }
    // Somebody else was quicker; whoever asks again sees what is left.
    let why = "Cannot evict pod as the disruption budget is being changed.";
    Err(Status::too_many_requests(why, 1))
}
