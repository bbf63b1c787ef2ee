//! The size of an object, read and written as a `Scale`.

use http::{Response, StatusCode};
use object::Value;
use object::field::{FieldError, FieldPath};
use object::patch::{self, JsonPatch, Replace};
use serde_json::json;

use crate::body::{self, Body};
use crate::call::{Call, Exhibit, SCALE};
use crate::intake;
use crate::negotiate::{Answer, Content};
use crate::resource::{ScalePaths, SchemaDuty};
use crate::server::Server;
use crate::status::{Status, Subject};
use crate::target::{ResourceTarget, Verb};
use crate::verbs::write::Written;
use crate::warning::warn;

impl Server {
    /// The size of an object.
    pub(crate) async fn get_scale(
        &self,
        call: &Call,
        paths: &ScalePaths,
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let record = self
            .find(call)
            .ok_or_else(|| Status::not_found(call.subject()))?;
        let object = self.asked_form(call, record.value()).await?;
        let scale = call.served.resource.rules.scale_of(&object, paths);
        Ok(body::value(StatusCode::OK, answer.encoding, &scale))
    }

    /// The size of an object, set by a whole `Scale`, a patch to one or a declaration.
    pub(crate) async fn set_scale(
        &self,
        call: &Call,
        paths: &ScalePaths,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let wire = call.served.resource.rules.wire();
        let (document, _) = intake::decode_sent(content, bytes, wire)?;
        if matches!(
            content,
            Content::Json | Content::Yaml | Content::Protobuf | Content::Apply
        ) {
            check_identity(call, &document)?;
        }
        // The size is part of the object itself; only the way to it is another.
        let target = ResourceTarget {
            subresource: String::new(),
            ..call.target.clone()
        };
        let whole = Call {
            target,
            exhibit: Exhibit::Scale(paths.clone()),
            ..call.clone()
        };
        let rules = &call.served.resource.rules;
        let edit = |current: &Value| -> Result<Value, Status> {
            let wanted = wanted_scale(content, &document, &rules.scale_of(current, paths))?;
            check_size(call, paths, &wanted)?;
            if content == Content::Apply {
                let mut declared = json!({
                    "apiVersion": call.served.api_version(), "kind": &*call.served.resource.kind,
                    "metadata": {"name": call.target.name}, "spec": {},
                });
                rules.apply_scale(&wanted, &mut declared, paths);
                return self.apply(&whole, Some(current), &declared);
            }
            let mut object = current.clone();
            rules.apply_scale(&wanted, &mut object, paths);
            Ok(object)
        };
        let mut warnings = Vec::new();
        let scale = match self.replace(&whole, &mut warnings, &edit).await? {
            Written::Stored(record) | Written::Unchanged(record) => {
                rules.scale_of(&self.asked_form(&whole, record.value()).await?, paths)
            }
            Written::Gone(object) | Written::Rehearsed(object) => rules.scale_of(&object, paths),
        };
        let mut response = body::value(StatusCode::OK, answer.encoding, &scale);
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Lets admission change the size an object is to have, which is all it is shown of the object.
    pub(crate) async fn ask_to_change_scale(
        &self,
        call: &Call,
        paths: &ScalePaths,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<Vec<String>, Status> {
        let rules = &call.served.resource.rules;
        let call = &on_scale(call);
        let old = old.map(|old| rules.scale_of(old, paths));
        let scale = rules.scale_of(new, paths);
        let mut wanted = scale.clone();
        let asked = self.ask_to_change(call, old.as_ref(), &mut wanted);
        let warnings = asked.await?;
        if wanted == scale {
            return Ok(warnings);
        }
        let judged = match wanted.pointer("/spec/replicas") {
            // The client is not to blame for what others make of its size.
            Some(size) if i32::try_from(size.as_i64().unwrap_or(i64::MAX)).is_err() => {
                let why = format!(
                    "admission set spec.replicas of the Scale to {size:.64}, which is no size"
                );
                Err(Status::internal(why, None))
            }
            _ => check_size(call, paths, &wanted),
        };
        judged.map_err(|status| status.with_warnings(&warnings))?;
        rules.apply_scale(&wanted, new, paths);
        Ok(warnings)
    }

    /// Lets admission refuse the size an object is to have.
    pub(crate) async fn ask_to_judge_scale(
        &self,
        call: &Call,
        paths: &ScalePaths,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<Vec<String>, Status> {
        let scale = |object: &Value| call.served.resource.rules.scale_of(object, paths);
        let (old, new) = (old.map(scale), new.map(scale));
        let call = on_scale(call);
        self.ask_to_judge(&call, old.as_ref(), new.as_ref()).await
    }
}

/// A call that writes an object by its size, as admission sees it: aimed at the part.
fn on_scale(call: &Call) -> Call {
    let target = ResourceTarget {
        subresource: SCALE.to_owned(),
        ..call.target.clone()
    };
    Call {
        target,
        exhibit: Exhibit::Object,
        ..call.clone()
    }
}

/// A whole `Scale` says that it is one, and of what.
fn check_identity(call: &Call, scale: &Value) -> Result<(), Status> {
    let text = |name: &str| scale.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let is_scale = kind == "Scale" && version.starts_with("autoscaling/");
    let says_nothing = kind.is_empty() && version.is_empty();
    if !is_scale && !says_nothing {
        return Err(Status::bad_request(format!(
            "the object is a {kind} of {version}, where a Scale of autoscaling/v1 was expected"
        )));
    }
    let metadata = |name: &str| {
        let value = scale
            .get("metadata")
            .and_then(|metadata| metadata.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    match (metadata("name"), metadata("namespace")) {
        ("", _) => Err(Status::unnamed(&call.target.name)),
        (name, _) if name != call.target.name => Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.target.name
        ))),
        (_, namespace) if !namespace.is_empty() && namespace != call.target.namespace => {
            Err(Status::bad_request(format!(
                "the namespace of the object ({namespace}) does not match the namespace on the request ({})",
                call.target.namespace
            )))
        }
        _ => Ok(()),
    }
}

fn wanted_scale(content: Content, document: &Value, scale: &Value) -> Result<Value, Status> {
    match content {
        Content::Json | Content::Yaml | Content::Protobuf | Content::Apply => Ok(document.clone()),
        Content::JsonPatch => {
            let patch = JsonPatch::decode(document)
                .map_err(|error| Status::bad_request(error.to_string()))?;
            let applied = patch.apply(scale, Replace::ExistingOrMissing);
            applied.map_err(|error| Status::bad_request(error.to_string()))
        }
        _ => Ok(patch::merge(scale, document)),
    }
}

fn check_size(call: &Call, paths: &ScalePaths, scale: &Value) -> Result<(), Status> {
    let replicas = scale
        .get("spec")
        .and_then(|spec| spec.get("replicas"))
        .cloned()
        .unwrap_or(Value::from(0));
    let number = replicas
        .as_i64()
        .filter(|number| *number <= i64::from(i32::MAX));
    match number {
        Some(0..) => Ok(()),
        // Upstream: custom kinds say where they keep it.
        Some(_) if call.served.resource.rules.schema_duty() == SchemaDuty::Everything => {
            let place = FieldPath::new(&paths.wanted);
            let error = FieldError::invalid(place, replicas, "should be a non-negative integer");
            Err(Status::invalid(
                call.kind_subject(&call.target.name),
                &[error],
            ))
        }
        Some(_) => {
            let scale = Subject {
                group: "autoscaling",
                resource: "Scale",
                name: &call.target.name,
            };
            let place = FieldPath::new("spec").child("replicas");
            let why = "must be greater than or equal to 0";
            Err(Status::invalid(
                scale,
                &[FieldError::invalid(place, replicas, why)],
            ))
        }
        None if call.verb == Verb::Patch && !call.applies => Err(Status::bad_patch(
            scale.to_string(),
            "spec.replicas must be a whole number of 32 bits",
        )),
        None => Err(Status::bad_request(format!(
            "spec.replicas: Invalid value: {replicas}: must be a whole number of 32 bits"
        ))),
    }
}
