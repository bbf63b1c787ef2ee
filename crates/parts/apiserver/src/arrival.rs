//! Bodies that are read as a whole before whoever answers reads them.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use serve::server::BODY_LIMIT;
use serve::status::Status;

/// All of a body, which may be as large as the server takes.
pub(crate) async fn whole<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let collected = Limited::new(body, BODY_LIMIT).collect().await;
    let collected = collected.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            return Status::too_large(BODY_LIMIT);
        }
        Status::bad_request(format!("the body could not be read: {error}"))
    });
    Ok(collected?.to_bytes())
}
