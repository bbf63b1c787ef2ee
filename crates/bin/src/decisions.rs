//! Why bindings are where they are, over the API: `GET .../resourcebindings/NAME/decisions`.
//!
//! The answer is a list of the scheduler's last decisions about the binding, the newest first, each with everything that
//! led to it. Who may read it is settled by roles, as for every other part of a binding.

use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use object::{ObjectKey, Value};
use scheduler::recorder::Recorder;
use serde_json::json;
use serve::body;
use serve::call::Call;
use serve::handler::{Asked, Handler, Outcome};
use serve::negotiate::Encoding;
use serve::server::Server;
use serve::status::Status;

/// Answers with the scheduler's last decisions, once there is a scheduler.
#[derive(Default)]
pub(crate) struct Decisions(Mutex<Option<Recorder>>);

impl Decisions {
    /// The scheduler that runs now, in place of an earlier one.
    pub(crate) fn of(&self, recorder: Option<&Recorder>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = recorder.cloned();
    }

    async fn last(&self, binding: &ObjectKey) -> Option<Vec<Value>> {
        let recorder = {
            let recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            recorder.clone()?
        };
        let records = recorder.last(binding).await;
        Some(records.iter().map(|record| record.to_value()).collect())
    }
}

impl Handler for Decisions {
    fn answer<'a>(&'a self, _: &'a Server, call: &'a Call, _: Asked) -> Outcome<'a> {
        let target = &call.target;
        let binding = ObjectKey::namespaced(&target.namespace, &target.name);
        Box::pin(async move {
            let Some(items) = self.last(&binding).await else {
                return Err(Status::unavailable(
                    "no scheduler runs in this process; ask the server that runs the controllers",
                    None,
                ));
            };
            let list = json!({
                "apiVersion": "karavel.io/v1alpha1",
                "kind": "DecisionList",
                "items": items,
            });
            Ok(body::value(StatusCode::OK, Encoding::Json, &list))
        })
    }
}

/// The parts of the API that it answers for.
pub(crate) fn register(decisions: &Arc<Decisions>, handlers: &mut serve::handler::Handlers) {
    for resource in ["resourcebindings", "clusterresourcebindings"] {
        let handler = Arc::clone(decisions) as Arc<dyn Handler>;
        handlers.insert("work.karmada.io", resource, "decisions", handler);
    }
}
