//! The one executor of plans.

use client::{CallError, Client, DeleteOptions, PatchKind, WriteOptions};
use intent::{Action, EventKind, ObjectRef, Plan};
use object::{Object, ObjectKey, ResourceType, Value};
use serde_json::json;
use telemetry::chain;

use crate::cx::Cx;
use crate::events::DELETED;

/// An action of a plan that could not be carried out; those after it were not tried.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {kind} {key}")]
pub struct CarryOutError {
    /// What was to be done.
    pub verb: &'static str,
    /// The kind of the object.
    pub kind: String,
    /// Which object.
    pub key: ObjectKey,
    /// Why it was not.
    pub source: CallError,
}

impl CarryOutError {
    /// Whether looking again will not help until something changes.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.source.is_terminal()
    }

    /// Whether the world has moved on since the plan was made: it must be made again, and nothing is wrong.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        // What was to be changed is gone: whoever took it away will be heard of.
        let is_gone = self.source.is_not_found() && matches!(self.verb, "patch" | "replace");
        is_gone
            || self.source.is_conflict()
            || self.source.is_already_exists()
            || self.source.is_wrong_uid()
    }
}

pub(crate) async fn carry_out(cx: &Cx, plan: &Plan) -> Result<(), CarryOutError> {
    for problem in &plan.problems {
        tracing::debug!(
            subject = problem.subject,
            error = problem.message,
            "problem"
        );
    }
    for action in &plan.actions {
        let result = act(cx, action).await.map_err(|source| CarryOutError {
            verb: action.verb(),
            kind: action.kind().group_kind().to_string(),
            key: action.key(),
            source,
        });
        cx.observer.acted(action, result.as_ref().err());
        result?;
    }
    Ok(())
}

async fn act(cx: &Cx, action: &Action) -> Result<(), CallError> {
    let options = WriteOptions::by(cx.manager);
    let client = &cx.client;
    match action {
        Action::Create { resource, object } => {
            client.create_unread(resource, object, &options).await
        }
        Action::Apply {
            resource,
            object,
            manager,
            force,
            part,
        } => {
            let options = WriteOptions::by(manager.clone());
            client
                .apply(resource, object, *force, part, &options)
                .await
                .map(drop)
        }
        Action::Patch {
            resource,
            key,
            uid,
            revision,
            patch,
            part,
        } => {
            let patch = with_preconditions(patch, uid.as_deref(), revision.as_deref());
            client
                .patch_unread(resource, key, PatchKind::Merge, &patch, part, &options)
                .await
        }
        Action::Replace {
            resource,
            object,
            part,
        } => client
            .replace(resource, object, part, &options)
            .await
            .map(drop),
        Action::Delete { resource, key, .. } => delete(cx, client, resource, key, action).await,
        Action::Report {
            about,
            kind,
            reason,
            message,
        } => {
            cx.events.record(about, *kind, reason, message);
            Ok(())
        }
    }
}

async fn delete(
    cx: &Cx,
    client: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
    action: &Action,
) -> Result<(), CallError> {
    let Action::Delete {
        uid,
        revision,
        propagation,
        cause,
        ..
    } = action
    else {
        return Ok(());
    };
    let body = match cx.observer.wants_bodies() {
        true => read_body(client, resource, key, uid).await?,
        false => None,
    };
    cx.observer.deleting(action, body.as_ref());
    let options = DeleteOptions {
        uid: Some(uid.clone()),
        revision: revision.clone(),
        propagation: *propagation,
        ..DeleteOptions::default()
    };
    match client.delete(resource, key, &options).await {
        Ok(_) => {
            let kind = resource.kind.group_kind().to_string();
            tracing::info!(
                kind,
                namespace = key.namespace,
                name = key.name,
                uid,
                cause,
                "deleted"
            );
            // Whoever looks for it finds out why it went.
            if resource.kind.kind != "Event" {
                let about = ObjectRef {
                    kind: resource.kind.clone(),
                    key: key.clone(),
                    uid: uid.clone(),
                    revision: String::new(),
                };
                cx.events.record(&about, EventKind::Normal, DELETED, cause);
            }
            Ok(())
        }
        Err(error) if error.is_not_found() => Ok(()),
        // Another object has the name now, so the one that was meant is gone. A revision that does not fit is told apart
        // by looking: the refusals differ from server to server.
        Err(error) if error.is_conflict() => match client.get_metadata(resource, key).await {
            Ok(found) if found.uid() == uid => Err(error),
            Ok(_) => Ok(()),
            Err(lookup) if lookup.is_not_found() => Ok(()),
            Err(lookup) => {
                tracing::debug!(error = %chain(&lookup), "cannot tell why a deletion was refused");
                Err(error)
            }
        },
        Err(error) => Err(error),
    }
}

async fn read_body(
    client: &Client,
    resource: &ResourceType,
    key: &ObjectKey,
    uid: &str,
) -> Result<Option<Object>, CallError> {
    match client.get(resource, key).await {
        Ok(body) => Ok(Some(body).filter(|body| body.uid() == uid)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The patch, together with what must be true of the object it meets.
fn with_preconditions(patch: &Value, uid: Option<&str>, revision: Option<&str>) -> Value {
    let mut patch = patch.clone();
    if uid.is_none() && revision.is_none() {
        return patch;
    }
    let Value::Object(fields) = &mut patch else {
        return patch; // Not a merge patch of an object; the server will say so.
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata {
        if let Some(uid) = uid {
            metadata.insert("uid".to_owned(), Value::from(uid));
        }
        if let Some(revision) = revision {
            metadata.insert("resourceVersion".to_owned(), Value::from(revision));
        }
    }
    patch
}

#[cfg(test)]
mod tests;
