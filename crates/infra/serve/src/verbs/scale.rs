//! The size of an object, read and written as a `Scale`.

use http::{Response, StatusCode};
use object::Value;
use object::patch::{self, JsonPatch, Replace};

use crate::body::{self, Body};
use crate::call::Call;
use crate::intake;
use crate::negotiate::{Answer, Content};
use crate::resource::ScalePaths;
use crate::server::Server;
use crate::status::Status;
use crate::target::ResourceTarget;
use crate::verbs::write::Written;

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

    /// The size of an object, set by a whole `Scale` or a patch to one.
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
        let rules = &call.served.resource.rules;
        let edit = |current: &Value| -> Result<Value, Status> {
            let wanted = wanted_scale(content, &document, &rules.scale_of(current, paths))?;
            check_size(&wanted)?;
            let mut object = current.clone();
            rules.apply_scale(&wanted, &mut object, paths);
            Ok(object)
        };
        // The size is part of the object itself; only the way to it is another.
        let target = ResourceTarget {
            subresource: String::new(),
            ..call.target.clone()
        };
        let whole = Call {
            target,
            applies: false,
            through: Some("scale"),
            ..call.clone()
        };
        let scale = match self.replace(&whole, &mut Vec::new(), &edit).await? {
            Written::Stored(record) | Written::Unchanged(record) => {
                rules.scale_of(&self.asked_form(&whole, record.value()).await?, paths)
            }
            Written::Gone(object) | Written::Rehearsed(object) => rules.scale_of(&object, paths),
        };
        Ok(body::value(StatusCode::OK, answer.encoding, &scale))
    }
}

fn wanted_scale(content: Content, document: &Value, scale: &Value) -> Result<Value, Status> {
    match content {
        Content::Json | Content::Yaml | Content::Protobuf => Ok(document.clone()),
        Content::JsonPatch => {
            let patch = JsonPatch::decode(document)
                .map_err(|error| Status::bad_request(error.to_string()))?;
            let applied = patch.apply(scale, Replace::ExistingOrMissing);
            applied.map_err(|error| Status::bad_request(error.to_string()))
        }
        _ => Ok(patch::merge(scale, document)),
    }
}

fn check_size(scale: &Value) -> Result<(), Status> {
    let replicas = scale
        .get("spec")
        .and_then(|spec| spec.get("replicas"))
        .cloned()
        .unwrap_or(Value::from(0));
    if replicas
        .as_i64()
        .is_some_and(|number| (0..=i64::from(i32::MAX)).contains(&number))
    {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "spec.replicas: Invalid value: {replicas}: must be a whole number, 0 or more"
    )))
}
