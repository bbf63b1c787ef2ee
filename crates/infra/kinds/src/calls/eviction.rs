//! `pods/eviction`: a deletion that budgets may refuse.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use object::field::FieldPath;
use object::selector::LabelSelector;
use object::{Object, Value};
use serde_json::json;
use serve::body::{self, Body};
use serve::call::{Call, User};
use serve::handler::{Asked, Handler, Outcome, warned};
use serve::intake;
use serve::server::Server;
use serve::status::{Cause, Status, Subject};

use super::document::{self, Form};
use super::text;

/// Answers evictions.
pub(super) struct Eviction {
    /// Who writes what is taken from budgets.
    pub(super) bookkeeper: User,
}

const BUDGETS: &str = "policy/poddisruptionbudgets";
const FORM: Form = Form {
    api_version: "policy/v1",
    older: "policy/v1beta1",
    kind: "Eviction",
};

/// Whether anything is to come of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Earnest,
    Rehearsal,
}

impl Handler for Eviction {
    fn answer<'a>(&'a self, server: &'a Server, call: &'a Call, asked: Asked) -> Outcome<'a> {
        Box::pin(self.evict(server, call, asked))
    }
}

impl Eviction {
    async fn evict(
        &self,
        server: &Server,
        call: &Call,
        asked: Asked,
    ) -> Result<Response<Body>, Status> {
        let encoding = asked.answer.encoding;
        let (content, bytes) = asked.document().await?;
        let (mut eviction, _) = intake::decode(content, &bytes)?;
        check_document(call, &mut eviction)?;
        let mut warnings = server.mutate_sent(call, &mut eviction).await?;
        let (mut options, mode) = delete_options(call, &eviction)?;
        let judged = server.validate_sent(call, &eviction).await;
        warnings.extend(judged.map_err(|status| status.with_warnings(&warnings))?);
        let (namespace, name) = (&call.target.namespace, &call.target.name);
        let record = server
            .cache()
            .collection("core/pods")
            .find(&serve::cache::object_key(namespace, name))
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let pod =
            Object::from_value(record.value()).map_err(|_| Status::not_found(call.subject()))?;
        if !is_free(&pod) {
            self.ask_budget(server, &pod, mode).await?;
        }
        // The pod whose budget was asked, and no later one of its name.
        if text(&options, "/preconditions/uid").is_empty() {
            let conditions = options
                .as_object_mut()
                .map(|fields| fields.entry("preconditions").or_insert_with(|| json!({})));
            if let Some(conditions) = conditions.and_then(Value::as_object_mut) {
                conditions.insert("uid".to_owned(), json!(pod.uid()));
            }
        }
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        let request = Request::delete(path)
            .body(Full::new(Bytes::from(options.to_string())))
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let deleted = server.answer(call.user.clone(), request).await;
        if !deleted.status().is_success() {
            return Ok(warned(deleted, &warnings));
        }
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        });
        let response = body::value(StatusCode::CREATED, encoding, &status);
        Ok(warned(response, &warnings))
    }

    /// Takes one disruption from the budget of a pod, if it has one that is concerned.
    async fn ask_budget(&self, server: &Server, pod: &Object, mode: Mode) -> Result<(), Status> {
        let budgets = budgets_of(server, pod);
        if budgets.len() > 1 {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Status::internal(why, None));
        }
        let Some(budget) = budgets.first() else {
            return Ok(());
        };
        if !is_ready(pod) && lets_unready_go(budget) {
            return Ok(());
        }
        let allowed = judge(budget)?;
        if mode == Mode::Rehearsal {
            return Ok(());
        }
        let patch = json!({
            "metadata": {"resourceVersion": budget.resource_version()},
            // Whoever counts what is healthy must not count a pod that is as good as gone.
            "status": {
                "disruptionsAllowed": allowed - 1,
                "disruptedPods": {pod.name(): server.now().to_string()},
            },
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
        let spent = server.answer(self.bookkeeper.clone(), request).await;
        if spent.status().is_success() {
            return Ok(());
        }
        // Somebody else was quicker; whoever asks again sees what is left.
        let why = "Cannot evict pod as the disruption budget is being changed.";
        Err(Status::too_many_requests(why, 1))
    }
}

/// Checks that a document is an eviction of the pod of the call, and completes it.
fn check_document(call: &Call, eviction: &mut Value) -> Result<(), Status> {
    document::complete(call, eviction, &FORM)?;
    if text(eviction, "/metadata/name") != call.target.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    Ok(())
}

/// The options of the deletion, and whether it is one.
fn delete_options(call: &Call, eviction: &Value) -> Result<(Value, Mode), Status> {
    let mut options = eviction
        .get("deleteOptions")
        .filter(|options| !options.is_null())
        .cloned()
        .unwrap_or_else(|| json!({}));
    let Some(fields) = options.as_object_mut() else {
        return Err(Status::bad_request("deleteOptions is not an object"));
    };
    if call.options.dry_run {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    let is_rehearsal = fields
        .get("dryRun")
        .and_then(Value::as_array)
        .is_some_and(|stages| !stages.is_empty());
    let mode = match is_rehearsal {
        true => Mode::Rehearsal,
        false => Mode::Earnest,
    };
    Ok((options, mode))
}

/// Whether no budget is concerned: the pod does not run yet or any more.
fn is_free(pod: &Object) -> bool {
    let phase = pod.text_at(&["status", "phase"]).unwrap_or("Pending");
    pod.is_terminating() || matches!(phase, "Pending" | "Succeeded" | "Failed")
}

fn is_ready(pod: &Object) -> bool {
    let conditions = pod.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        text(condition, "/type") == "Ready" && text(condition, "/status") == "True"
    })
}

/// The budgets that choose a pod. One whose selector cannot be understood, or is not there, chooses none.
fn budgets_of(server: &Server, pod: &Object) -> Vec<Object> {
    let snapshot = server.cache().collection(BUDGETS).snapshot();
    let in_namespace = snapshot
        .objects
        .values()
        .filter(|record| record.head().namespace == pod.namespace());
    in_namespace
        .filter_map(|record| Object::from_value(record.value()).ok())
        .filter(|budget| {
            let selector = budget.at(&["spec", "selector"]).cloned();
            let selector = selector.and_then(|value| serde_json::from_value(value).ok());
            let selector = selector.and_then(|typed: LabelSelector| {
                typed
                    .compile(&FieldPath::new("spec").child("selector"))
                    .ok()
            });
            selector.is_some_and(|selector| selector.matches(|key| pod.label(key)))
        })
        .collect()
}

/// Whether a pod that is not ready may go without the budget losing anything.
fn lets_unready_go(budget: &Object) -> bool {
    let count = |field| budget.integer_at(&["status", field]).unwrap_or(0);
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    budget.text_at(&["spec", "unhealthyPodEvictionPolicy"]) == Some("AlwaysAllow")
        || (healthy >= desired && desired > 0)
}

/// How many disruptions a budget allows, if any.
fn judge(budget: &Object) -> Result<i64, Status> {
    let count = |field| budget.integer_at(&["status", field]).unwrap_or(0);
    let name = budget.name();
    let refused = |mut status: Status, message: String| {
        status.details.causes.push(Cause {
            reason: "DisruptionBudget".to_owned(),
            message,
            field: String::new(),
        });
        Err(status)
    };
    let violated = "Cannot evict pod as it would violate the pod's disruption budget.";
    let generation = budget.integer_at(&["metadata", "generation"]);
    if count("observedGeneration") < generation.unwrap_or(0) {
        let status = Status::too_many_requests(violated, 10);
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return refused(status, why);
    }
    match count("disruptionsAllowed") {
        allowed if allowed < 0 => {
            let subject = Subject {
                group: "policy",
                resource: "poddisruptionbudget",
                name,
            };
            let why = "pdb disruptions allowed is negative";
            let message = format!(
                "The disruption budget {name} does not allow evicting pods currently: {why}"
            );
            refused(Status::forbidden(subject, why), message)
        }
        0 => {
            let (desired, healthy) = (count("desiredHealthy"), count("currentHealthy"));
            let message = match healthy <= desired {
                true => format!(
                    "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
                ),
                false => {
                    format!("The disruption budget {name} does not allow evicting pods currently")
                }
            };
            refused(Status::too_many_requests(violated, 0), message)
        }
        allowed => Ok(allowed),
    }
}
