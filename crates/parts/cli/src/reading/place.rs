//! The APIs a question goes to: the control plane's own, and members' through it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use client::{AnswerBody, Body, BoxError, Client, ListOptions};
use http::header::ACCEPT;
use http::{HeaderValue, Request, Response, Uri};
use object::ResourceType;
use tower_service::Service;

use super::Scope;
use crate::failure::Failure;
use crate::reach::call_failure;

/// What the control plane is called among clusters. No cluster can be: their names are lower-case.
pub(super) const CONTROL_PLANE: &str = "Karmada";
/// How long somebody at a terminal is kept waiting for one member that does not answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many calls to one member run at once.
const CALLS: usize = 16;

/// One API.
#[derive(Clone)]
pub(super) struct Place {
    /// What is shown in the column of clusters.
    pub(super) name: String,
    control: Client,
    prefix: String,
}

impl Place {
    fn control_plane(control: &Client) -> Self {
        Self {
            name: CONTROL_PLANE.to_owned(),
            control: control.clone(),
            prefix: String::new(),
        }
    }

    fn member(control: &Client, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            control: control.clone(),
            prefix: format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}/proxy"),
        }
    }

    /// Whether it is a member.
    pub(super) fn is_member(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// A client for it.
    pub(super) fn client(&self) -> Client {
        self.through(None)
    }

    /// A client that is answered with tables where the server can make them.
    pub(super) fn tables(&self) -> Client {
        const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        self.through(Some(HeaderValue::from_static(TABLE)))
    }

    fn through(&self, accept: Option<HeaderValue>) -> Client {
        let through = Through {
            control: self.control.clone(),
            prefix: self.prefix.clone(),
            accept,
        };
        Client::in_process(through)
            .named("karavel")
            .limited(PATIENCE, CALLS)
    }
}

/// The places of a scope: the control plane first, then members by name. `chosen` is all members if empty.
pub(super) async fn places(
    control: &Client,
    scope: Scope,
    chosen: &[String],
) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    if scope != Scope::Members {
        places.push(Place::control_plane(control));
    }
    if scope == Scope::Karmada {
        return Ok(places);
    }
    let clusters = ResourceType::cluster("cluster.karmada.io", "v1alpha1", "Cluster", "clusters");
    let listed = control
        .list_all(&clusters, "", &ListOptions::default())
        .await
        .map_err(|error| call_failure(&error))?;
    let known: Vec<&str> = listed.items.iter().map(object::Object::name).collect();
    let members = choose(known, chosen)?;
    places.extend(members.iter().map(|name| Place::member(control, name)));
    Ok(places)
}

/// The chosen ones among those known, by name.
fn choose<'a>(mut known: Vec<&'a str>, chosen: &[String]) -> Result<Vec<&'a str>, Failure> {
    let unknown: Vec<&str> = chosen
        .iter()
        .map(String::as_str)
        .filter(|name| !known.contains(name))
        .collect();
    if !unknown.is_empty() {
        return Err(Failure::refused(
            format!("clusters don't exist: {}", unknown.join(",")),
            "`karavel clusters` lists the clusters there are",
        ));
    }
    known.retain(|name| chosen.is_empty() || chosen.iter().any(|wanted| wanted == name));
    known.sort_unstable();
    Ok(known)
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
mod tests {
    use super::*;

    #[test]
    fn members_come_by_name_and_unknown_ones_are_named() {
        let known = || vec!["c", "a", "b"];
        for (chosen, expected) in [
            (vec![], Ok(vec!["a", "b", "c"])),
            (vec!["c", "a", "c"], Ok(vec!["a", "c"])),
            (
                vec!["a", "x", "y"],
                Err("clusters don't exist: x,y".to_owned()),
            ),
        ] {
            let chosen: Vec<String> = chosen.into_iter().map(str::to_owned).collect();
            let found = choose(known(), &chosen).map_err(|failure| failure.to_string());
            assert_eq!(found, expected);
        }
    }
}
