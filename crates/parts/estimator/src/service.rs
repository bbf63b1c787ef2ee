//! The calls, over gRPC.

use std::{future::Future, pin::Pin};

use bytes::Bytes;
use http::{Request, Response};
use protocol::{
    OBJECT_HEADER, Question,
    message::{Count, MaxReplicasRequest, MaxSetsRequest, UnschedulableRequest},
    path,
};
use telemetry::chain;
use tonic::{
    Status,
    body::Body,
    server::{Grpc, UnaryService},
};
use tonic_prost::ProstCodec;
use tracing::debug;

use crate::{answer::Refusal, ledger::Ledger};

/// How large a question may be.
const QUESTION_BYTES: usize = 4 * 1024 * 1024;

/// Answers one request.
pub(crate) async fn answer<B>(ledger: Ledger, request: Request<B>) -> Response<Body>
where
    B: http_body_util::BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    match request.uri().path() {
        path::MAX_REPLICAS => {
            call::<MaxReplicasRequest, B>(ledger, request, Question::Replicas).await
        }
        path::MAX_SETS => call::<MaxSetsRequest, B>(ledger, request, Question::Sets).await,
        path::UNSCHEDULABLE => {
            call::<UnschedulableRequest, B>(ledger, request, Question::Unschedulable).await
        }
        unknown => Status::unimplemented(format!("there is no call {unknown}")).into_http(),
    }
}

async fn call<Q, B>(
    ledger: Ledger,
    request: Request<B>,
    question: fn(Q) -> Question,
) -> Response<Body>
where
    Q: Default + MessageLike,
    B: http_body_util::BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let codec = ProstCodec::<Count, Q>::default();
    let mut grpc = Grpc::new(codec).max_decoding_message_size(QUESTION_BYTES);
    grpc.unary(Call { ledger, question }, request).await
}

/// What questions are on the wire.
trait MessageLike: protocol::Message + 'static {}
impl<M: protocol::Message + 'static> MessageLike for M {}

/// One kind of question, and who answers it.
struct Call<Q> {
    ledger: Ledger,
    question: fn(Q) -> Question,
}

impl<Q: Send + 'static> UnaryService<Q> for Call<Q> {
    type Response = Count;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Count>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        let object = request.metadata().get(OBJECT_HEADER);
        let object = object.and_then(|object| object.to_str().ok());
        let object = object.unwrap_or_default().to_owned();
        let question = (self.question)(request.into_inner());
        let ledger = self.ledger.clone();
        Box::pin(async move {
            let answered = ledger.answer(&question).await;
            match &answered {
                Ok(count) => debug!(object, count, call = question.name(), "answered"),
                Err(refusal) => {
                    debug!(object, call = question.name(), error = %chain(refusal), "refused");
                }
            }
            let count = answered.map_err(|refusal| status(&refusal))?;
            Ok(tonic::Response::new(Count { count }))
        })
    }
}

/// Upstream: every failure is of code `Unknown`; here the code says whether asking again may help.
fn status(refusal: &Refusal) -> Status {
    let text = chain(refusal).to_string();
    match refusal {
        Refusal::OtherCluster { .. } | Refusal::NoResource | Refusal::Unreadable(_) => {
            Status::invalid_argument(text)
        }
        Refusal::Kind { .. } => Status::unimplemented(text),
        Refusal::Member(_) | Refusal::NotWhole(_) => Status::unavailable(text),
    }
}
