//! A member's front door: faults first, then the gate, then the server.

use std::sync::Arc;

use futures_util::StreamExt;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use rand::RngExt;
use serde_json::Value;
use serve::body::{self, Body};
use serve::call::User;
use serve::negotiate::Encoding;
use serve::status::Status;

use crate::faults::{FaultState, Faults, There};
use crate::member::{Member, Present};
use crate::outage;
use crate::tables;

/// Where faults are seen and set.
pub const FAULTS_PATH: &str = "/karavel/v1/sim/faults";
/// Where a member is restarted.
pub const RESTART_PATH: &str = "/karavel/v1/sim/restart";
/// Whose pods can be made to fail.
const WORKLOADS: [&str; 7] = [
    "core/pods",
    "apps/deployments",
    "apps/replicasets",
    "apps/statefulsets",
    "apps/daemonsets",
    "batch/jobs",
    "batch/cronjobs",
];
/// As large as a document of faults may be.
const DOCUMENT_LIMIT: usize = 1024 * 1024;

/// Answers a request of a known user, or of whoever its certificate or token names.
pub(crate) async fn answer<B>(
    member: &Member,
    present: &Arc<Present>,
    user: Option<User>,
    mut request: Request<B>,
) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let is_control = request.uri().path().starts_with("/karavel/v1/sim/");
    if !is_control && let Some(refusal) = suffer(member.faults()).await {
        return refusal;
    }
    let dropped = member.faults().state().dropped_groups;
    if let Some(refusal) = outage::refusal(request.uri().path(), &dropped) {
        return refusal;
    }
    let lists_groups = outage::lists_groups(request.uri().path());
    outage::unpack(&mut request, &dropped);
    let (mut parts, body) = request.into_parts();
    let admitted = match user {
        Some(user) => present.access.admit_user(user, &mut parts),
        None => present.access.admit(&mut parts),
    };
    let user = match admitted {
        Ok(admitted) => admitted.user,
        Err(refused) => return body::refusal(&refused.status, Encoding::Json),
    };
    let request = Request::from_parts(parts, body);
    if is_control {
        return control(member, present, request).await;
    }
    let path = request.uri().path().to_owned();
    tokio::select! {
        biased;
        () = present.over.cancelled() => restarting(),
        answer = present.server.answer(user, request) => match lists_groups {
            true => outage::mark(answer, &dropped),
            false => hold(member.faults(), present, path, answer),
        },
    }
}

/// What a call gets that a restart cuts short.
fn restarting() -> Response<Body> {
    let status = Status::unavailable("the member is restarting", None);
    body::refusal(&status, Encoding::Json)
}

/// Lets a stream fall silent while the API is cut off, and end when its group is dropped or the member restarts.
fn hold(
    faults: &Faults,
    present: &Arc<Present>,
    path: String,
    answer: Response<Body>,
) -> Response<Body> {
    let (parts, body) = answer.into_parts();
    let stream = match body {
        Body::Whole(bytes) => return Response::from_parts(parts, Body::Whole(bytes)),
        Body::Stream(stream) => stream,
    };
    let begin = (stream, faults.clone(), present.over.clone(), path);
    let held = futures_util::stream::unfold(begin, |(mut stream, faults, over, path)| async move {
        let next = async {
            let item = stream.next().await?;
            faults.connected().await;
            Some(item)
        };
        let item = tokio::select! {
            biased;
            () = over.cancelled() => None,
            () = faults.dropped(&path) => None,
            item = next => item,
        };
        Some((item?, (stream, faults, over, path)))
    });
    Response::from_parts(parts, Body::Stream(Box::pin(held)))
}

/// What faults do to a call: an answer in the place of the server's, or some delay.
async fn suffer(faults: &Faults) -> Option<Response<Body>> {
    // Nothing comes back, as from behind a broken network: the client's own deadline ends it, or it goes on when the
    // network is whole again.
    faults.connected().await;
    let faults = faults.state();
    if !faults.delay.is_zero() {
        tokio::time::sleep(faults.delay).await;
    }
    let is_unlucky =
        faults.fail_percent > 0 && rand::rng().random_range(0..100_u8) < faults.fail_percent;
    is_unlucky.then(|| {
        let status = Status::internal("this call was chosen to fail", None);
        body::refusal(&status, Encoding::Json)
    })
}

/// The control path: the gate has let whoever asks this through.
async fn control<B>(member: &Member, present: &Arc<Present>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let refuse = |status: &Status| body::refusal(status, Encoding::Json);
    let (parts, body) = request.into_parts();
    let shown = || {
        let state = member.faults().state();
        body::value(StatusCode::OK, Encoding::Json, &state.to_value())
    };
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, FAULTS_PATH) => shown(),
        (&Method::DELETE, FAULTS_PATH) => {
            member.faults().heal();
            shown()
        }
        (&Method::PATCH | &Method::PUT, FAULTS_PATH) => {
            let collected = match Limited::new(body, DOCUMENT_LIMIT).collect().await {
                Ok(collected) => collected.to_bytes(),
                Err(error) => return refuse(&Status::bad_request(error.to_string())),
            };
            let document: Value = match serde_json::from_slice(&collected) {
                Ok(document) => document,
                Err(error) => return refuse(&Status::bad_request(error.to_string())),
            };
            let base = if parts.method == Method::PUT {
                FaultState::default()
            } else {
                member.faults().state()
            };
            let state = base.merge(&document).and_then(|state| {
                let (cache, table) = (present.server.cache(), present.server.table());
                let nodes = cache.collection("core/nodes").snapshot();
                let groups = tables::base().iter().map(|resource| &*resource.group);
                let served = table.iter().map(|resource| &*resource.group);
                let workloads = WORKLOADS.map(|name| cache.collection(name).snapshot());
                let workloads = workloads.iter().flat_map(|of| of.objects.values());
                let there = There {
                    nodes: nodes.objects.values().map(|node| node.key()).collect(),
                    groups: groups.chain(served).collect(),
                    workloads: workloads.map(|workload| workload.key()).collect(),
                };
                state.check(&base, &there)?;
                Ok(state)
            });
            match state {
                Ok(state) => {
                    member.faults().change(|present| *present = state);
                    shown()
                }
                Err(error) => refuse(&Status::bad_request(error.to_string())),
            }
        }
        (&Method::POST, RESTART_PATH) => {
            let keep_data = parts.uri.query() != Some("data=lost");
            match member.restart(keep_data).await {
                Ok(()) => shown(),
                Err(error) => refuse(&Status::internal(error.to_string(), None)),
            }
        }
        _ => refuse(&Status::unknown_path()),
    }
}
