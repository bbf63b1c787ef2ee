//! Patch, in its four forms.

use http::{Response, StatusCode};
use object::Value;
use object::patch::{self, JsonPatch, Replace};

use crate::body::Body;
use crate::call::Call;
use crate::intake;
use crate::negotiate::{Answer, Content};
use crate::server::Server;
use crate::status::Status;

impl Server {
    /// A part of an object changed.
    pub(crate) async fn patch(
        &self,
        call: &Call,
        content: Content,
        bytes: &[u8],
        answer: Answer,
    ) -> Result<Response<Body>, Status> {
        let (document, _) = intake::decode(content, bytes)?;
        let mut warnings = Vec::new();
        let edit = |current: &Value| -> Result<Value, Status> {
            let patched = match content {
                Content::JsonPatch => json_patch(call, &document, current)?,
                Content::MergePatch => patch::merge(current, &document),
                _ => {
                    return Err(Status::unsupported_media_type(&[
                        "application/json-patch+json",
                        "application/merge-patch+json",
                    ]));
                }
            };
            if !patched.is_object() {
                return Err(Status::bad_request("the patched document is not an object"));
            }
            Ok(patched)
        };
        let written = self.replace(call, &mut warnings, &edit).await?;
        Ok(self.report(call, &written, StatusCode::OK, answer, &warnings))
    }
}

fn json_patch(call: &Call, document: &Value, current: &Value) -> Result<Value, Status> {
    let patch =
        JsonPatch::decode(document).map_err(|error| Status::bad_request(error.to_string()))?;
    patch
        .apply(current, Replace::ExistingOrMissing)
        .map_err(|error| {
            let subject = call.kind_subject(&call.target.name);
            Status::unprocessable(subject, error.to_string())
        })
}
