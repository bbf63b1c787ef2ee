//! The APIs a question goes to: the control plane's own, and members' through it.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use client::{AnswerBody, Body, BoxError, CallError, Client, ListOptions, Refusal};
use http::header::ACCEPT;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt as _;
use object::{Object, ObjectKey, ResourceType, Value};
use telemetry::chain;
use tower_service::Service;

use super::Scope;
use crate::failure::Failure;
use crate::nearest::cluster_hint;
use crate::reach::{UNREACHED, call_failure};

/// What the control plane is called among clusters. No cluster can be: their names are lower-case.
pub(crate) const CONTROL_PLANE: &str = "Karmada";
/// How long somebody at a terminal is kept waiting for one member that does not answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same for a member that is known not to be ready.
const LITTLE_PATIENCE: Duration = Duration::from_secs(4);
/// Tables where the server can make them, objects where it cannot.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// What to do about a member that does not answer.
pub(crate) const READINESS: &str = "`karavel clusters` shows which clusters are ready";
/// How many calls to one member run at once.
const CALLS: usize = 16;

/// One API.
#[derive(Clone)]
pub(crate) struct Place {
    /// What is shown in the column of clusters.
    pub(crate) name: String,
    control: Client,
    prefix: String,
    patience: Duration,
}

impl Place {
    pub(crate) fn control_plane(control: &Client) -> Self {
        Self {
            name: CONTROL_PLANE.to_owned(),
            control: control.clone(),
            prefix: String::new(),
            patience: PATIENCE,
        }
    }

    pub(crate) fn member(control: &Client, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            control: control.clone(),
            prefix: format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}/proxy"),
            patience: PATIENCE,
        }
    }

    /// The member that a Cluster stands for.
    fn of_cluster(control: &Client, cluster: &Object) -> Self {
        let conditions = cluster.at(&["status", "conditions"]);
        let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        let is_lost = conditions
            .filter(|condition| condition["type"] == "Ready")
            .any(|condition| condition["status"] != "True");
        let place = Self::member(control, cluster.name());
        match is_lost {
            true => place.with_little_patience(),
            false => place,
        }
    }

    /// The same, with less time to answer: nobody expects much of it.
    pub(crate) fn with_little_patience(self) -> Self {
        Self {
            patience: LITTLE_PATIENCE,
            ..self
        }
    }

    /// A call that failed here, as the end of a command.
    pub(crate) fn failure(&self, error: &CallError) -> Failure {
        let failure = call_failure(error);
        if !self.is_member() {
            return failure;
        }
        // Whoever asks was known to the control plane, so it is the control plane that the member does not know.
        if error.code() == 401 {
            return failure.advised(stranger_hint(&self.name));
        }
        if error.is_forbidden() {
            return failure.advised(permission_hint(&self.name, error));
        }
        match failure {
            Failure::Failed { .. } => failure.advised(READINESS),
            other => other,
        }
    }

    /// What its objects are marked with in documents: members always, the control plane beside others.
    pub(crate) fn mark(&self, several: bool) -> Option<&str> {
        (self.is_member() || several).then_some(self.name.as_str())
    }

    /// Whether it is a member.
    pub(crate) fn is_member(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// A client for it.
    pub(crate) fn client(&self) -> Client {
        self.through(None)
    }

    /// A client that is answered with tables where the server can make them.
    pub(crate) fn tables(&self) -> Client {
        self.through(Some(HeaderValue::from_static(TABLE)))
    }

    /// The client of the control plane.
    pub(crate) fn control(&self) -> &Client {
        &self.control
    }

    /// Where a path of its API is found on the control plane.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Opens a stream: whatever the path answers with, as it comes. The beginning has a deadline, the rest has none. A
    /// failure says in which member it happened.
    pub(crate) async fn open(&self, path: &str) -> Result<AnswerBody, Failure> {
        let opened = self.open_as(path, false).await;
        opened.map_err(|Unopened { failure, .. }| match self.is_member() {
            true => failure.in_cluster(&self.name),
            false => failure,
        })
    }

    /// The same, with tables instead of objects if the server can make them; a failure does not say where.
    pub(crate) async fn open_as(&self, path: &str, tables: bool) -> Result<AnswerBody, Unopened> {
        let unanswered = |what: String| Unopened {
            code: 0,
            failure: Failure::failed(what, self.advice()),
        };
        let silent = || unanswered(format!("no answer within {:?}", self.patience));
        let broken = |error: &BoxError| unanswered(chain(error.as_ref()).to_string());
        let accept = match tables {
            true => TABLE,
            false => "application/json, */*",
        };
        let request = Request::get(self.path(path))
            .header(ACCEPT, accept)
            .body(Body::empty())
            .map_err(|error| broken(&error.into()))?;
        let answering = tokio::time::timeout(self.patience, self.control.send(request)).await;
        let response = answering
            .map_err(|_| silent())?
            .map_err(|error| broken(&error))?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let code = response.status().as_u16();
        let body = tokio::time::timeout(self.patience, response.into_body().collect()).await;
        let bytes = body
            .map_err(|_| silent())?
            .map_err(|error| broken(&error))?;
        let said = String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
        let status: Value = serde_json::from_str(&said).unwrap_or_default();
        let text = |field: &str| status[field].as_str().map(str::to_owned);
        let refusal = Refusal {
            request: format!("GET {}", path.split('?').next().unwrap_or_default()),
            code,
            reason: text("reason").unwrap_or_default(),
            message: text("message").unwrap_or_else(|| said.trim().to_owned()),
            details: Value::Null,
            retry_after: None,
        };
        let failure = self.failure(&CallError::Refused(Box::new(refusal)));
        Err(Unopened { code, failure })
    }

    fn advice(&self) -> &'static str {
        match self.is_member() {
            true => READINESS,
            false => UNREACHED,
        }
    }

    fn through(&self, accept: Option<HeaderValue>) -> Client {
        let through = Through {
            control: self.control.clone(),
            prefix: self.prefix.clone(),
            accept,
        };
        Client::in_process(through)
            .named("karavel")
            .limited(self.patience, CALLS)
    }
}

/// A stream that did not begin.
pub(crate) struct Unopened {
    /// The HTTP status; 0 if there was no answer.
    code: u16,
    pub(crate) failure: Failure,
}

impl Unopened {
    /// Whether the place does not know the state any more from which changes were asked for, or not as one of its own.
    pub(crate) fn is_forgotten(&self) -> bool {
        let said = self.failure.to_string();
        self.code == 410 || self.code == 504 && said.contains("Too large resource version")
    }
}

/// What to do about a member that does not know the control plane.
fn stranger_hint(member: &str) -> String {
    format!(
        "{member} does not know the control plane's credentials any more: `karavel describe cluster {member}` shows its condition Ready; let it go with `karavel unjoin {member} --force` and join it again"
    )
}

/// Whom to ask for what: the control plane lets users through to a member, where they need a role of their own.
fn permission_hint(member: &str, error: &CallError) -> String {
    let said = error.refusal().map(|refusal| refusal.message.as_str());
    match said.unwrap_or_default().contains("clusters/proxy") {
        true => format!(
            "ask an administrator to bind the ClusterRole cluster-proxy-admin to this user, or one that may do anything to clusters/proxy of {member}"
        ),
        false => format!(
            "this user may reach {member} and lacks a role there: ask an administrator for a RoleBinding in {member}, or one for all members by a policy"
        ),
    }
}

/// The one place that a command about a single cluster is for. A cluster that is named is meant, also where no scope is.
pub(crate) async fn place(
    control: &Client,
    scope: Option<Scope>,
    cluster: Option<&str>,
) -> Result<Place, Failure> {
    match (scope, cluster) {
        (Some(Scope::All), _) => Err(Failure::refused(
            "not support operation scope: all",
            "choose -s karmada, or -s members with --cluster",
        )),
        (Some(Scope::Karmada), _) | (None, None) => Ok(Place::control_plane(control)),
        (Some(Scope::Members), None) => Err(Failure::refused(
            "must specify a member cluster",
            "name one with --cluster; `karavel clusters` lists them",
        )),
        (_, Some(name)) => match control.get(&kind(), &ObjectKey::cluster(name)).await {
            Ok(cluster) => Ok(Place::of_cluster(control, &cluster)),
            Err(error) if error.is_forbidden() => Ok(Place::member(control, name)),
            // Upstream: one cluster that is not there is told of in the server's own words.
            Err(error) if error.is_not_found() => {
                let hint = hint(control, &[name]).await;
                Err(call_failure(&error).advised(hint))
            }
            Err(error) => Err(call_failure(&error)),
        },
    }
}

/// The places of a scope: the control plane first, then members by name. `chosen` is all members if empty.
pub(crate) async fn places(
    control: &Client,
    scope: Scope,
    chosen: &[String],
) -> Result<Vec<Place>, Failure> {
    match within_reach(control, scope, chosen).await? {
        (places, None) => Ok(places),
        (_, Some(failure)) => Err(failure),
    }
}

/// The same; whoever may not list clusters is left with the control plane, and told so.
pub(crate) async fn within_reach(
    control: &Client,
    scope: Scope,
    chosen: &[String],
) -> Result<(Vec<Place>, Option<Failure>), Failure> {
    let mut places = Vec::new();
    if scope != Scope::Members {
        places.push(Place::control_plane(control));
    }
    if scope == Scope::Karmada {
        return Ok((places, None));
    }
    if !chosen.is_empty() {
        places.extend(named(control, chosen).await?);
        return Ok((places, None));
    }
    let mut listed = match control.list_all(&kind(), "", &ListOptions::default()).await {
        Ok(listed) => listed.items,
        Err(error) if error.is_forbidden() => {
            let failure = call_failure(&error).advised(
                "name the clusters with --clusters, or ask an administrator for a role that may list them",
            );
            return Ok((places, Some(failure)));
        }
        Err(error) => return Err(clusters_failure(&error)),
    };
    listed.sort_by(|one, other| one.name().cmp(other.name()));
    places.extend(
        listed
            .iter()
            .map(|cluster| Place::of_cluster(control, cluster)),
    );
    Ok((places, None))
}

/// A call about all clusters that failed: where there is no such kind, the kubeconfig leads elsewhere.
pub(crate) fn clusters_failure(error: &CallError) -> Failure {
    let failure = call_failure(error);
    match error.is_not_found() {
        true => failure.advised(
            "this server is no control plane, but perhaps a member: choose the control plane with --karmada-context or --kubeconfig",
        ),
        false => failure,
    }
}

fn kind() -> ResourceType {
    ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters")
}

/// Members by name, each once. Only they are read: whoever may see one cluster need not see the others.
async fn named(control: &Client, chosen: &[String]) -> Result<Vec<Place>, Failure> {
    let names: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
    let (kind, mut places, mut unknown) = (kind(), Vec::new(), Vec::new());
    for name in names {
        match control.get(&kind, &ObjectKey::cluster(name)).await {
            Ok(cluster) => places.push(Place::of_cluster(control, &cluster)),
            // Whoever may not even look at it may still be let through to it; if not, that is what will be said.
            Err(error) if error.is_forbidden() => places.push(Place::member(control, name)),
            Err(error) if error.is_not_found() => unknown.push(name),
            Err(error) => return Err(call_failure(&error)),
        }
    }
    if unknown.is_empty() {
        return Ok(places);
    }
    Err(Failure::refused(
        format!("clusters don't exist: {}", unknown.join(",")),
        hint(control, &unknown).await,
    ))
}

/// What to do about clusters that are not there.
async fn hint(control: &Client, unknown: &[&str]) -> String {
    let options = ListOptions {
        metadata_only: true,
        ..ListOptions::default()
    };
    let listed = control.list_all(&kind(), "", &options).await;
    let known = listed.map(|list| list.items).unwrap_or_default();
    cluster_hint(unknown, known.iter().map(Object::name))
}

/// Sends requests on to the control plane, under the path that leads to a member.
#[derive(Clone)]
struct Through {
    control: Client,
    prefix: String,
    accept: Option<HeaderValue>,
}

impl Service<Request<Body>> for Through {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Self {
            control,
            prefix,
            accept,
        } = self.clone();
        Box::pin(async move {
            let asked = request.uri().path_and_query();
            let asked = asked.map_or("/", |asked| asked.as_str());
            *request.uri_mut() = format!("{prefix}{asked}").parse::<Uri>()?;
            if let Some(accept) = accept {
                request.headers_mut().insert(ACCEPT, accept);
            }
            control.send(request).await
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> CallError {
        CallError::Refused(Box::new(Refusal {
            request: "GET /x".to_owned(),
            code,
            reason: String::new(),
            message: message.to_owned(),
            details: Value::Null,
            retry_after: None,
        }))
    }

    /// A client of somebody who answers nothing.
    pub(in crate::reading) fn silent() -> Client {
        Client::in_process(Through {
            control: Client::in_process(Nobody),
            prefix: String::new(),
            accept: None,
        })
    }

    /// Answers nothing.
    #[derive(Clone)]
    struct Nobody;

    impl Service<Request<Body>> for Nobody {
        type Response = Response<AnswerBody>;
        type Error = BoxError;
        type Future = std::future::Pending<Result<Response<AnswerBody>, BoxError>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            std::future::pending()
        }
    }

    #[tokio::test]
    async fn who_is_not_known_in_a_member_is_told_apart_from_who_may_not() {
        let member = Place::member(&silent(), "m1");
        for (code, message, expected) in [
            (
                401,
                "Unauthorized",
                "m1 does not know the control plane's credentials any more",
            ),
            (403, "pods is forbidden", "lacks a role there"),
            (
                403,
                "cannot get clusters/proxy",
                "ClusterRole cluster-proxy-admin",
            ),
            (503, "it is late", READINESS),
        ] {
            let failure = member.failure(&refused(code, message));
            assert!(failure.hint().contains(expected), "{}", failure.hint());
        }
        let own = Place::control_plane(&silent()).failure(&refused(401, "Unauthorized"));
        assert!(own.hint().contains("kubeconfig"), "{}", own.hint());
    }

    #[test]
    fn a_server_without_clusters_is_no_control_plane() {
        for (code, is_one) in [(404, false), (403, true)] {
            let failure = clusters_failure(&refused(code, "no"));
            let says = failure.hint().contains("this server is no control plane");
            assert_eq!(says, !is_one, "{code}: {}", failure.hint());
        }
    }

    #[test]
    fn only_a_state_that_is_not_known_is_forgotten() {
        for (code, what, expected) in [
            (410, "too old resource version: 1 (9)", true),
            (504, "Too large resource version: 9, current: 1", true),
            (504, "no answer", false),
            (403, "no", false),
            (0, "no answer", false),
        ] {
            let failure = Failure::failed(what, "");
            assert_eq!(
                Unopened { code, failure }.is_forgotten(),
                expected,
                "{what}"
            );
        }
    }
}
