//! Acting as somebody else: every request says as whom, and the server decides whether that is allowed.

use std::pin::Pin;
use std::task::{Context, Poll};

use client::{AnswerBody, Body, BoxError, Client};
use http::{HeaderName, HeaderValue, Request, Response};
use tower_service::Service;

use crate::failure::Failure;

/// Whom to act as.
#[derive(Clone, Debug, Default)]
pub struct Actor {
    /// The user.
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// The user's uid.
    pub uid: Option<String>,
}

/// The same client, acting as somebody else.
pub(crate) fn act_as(client: &Client, actor: &Actor) -> Result<Client, Failure> {
    let headers = headers(actor)?;
    let acting = Acting {
        client: client.clone(),
        headers,
    };
    Ok(Client::in_process(acting).named("karavel"))
}

fn headers(actor: &Actor) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let mut pairs = vec![("impersonate-user", &actor.user)];
    pairs.extend(
        actor
            .groups
            .iter()
            .map(|group| ("impersonate-group", group)),
    );
    pairs.extend(actor.uid.iter().map(|uid| ("impersonate-uid", uid)));
    let header = |(name, text): (&'static str, &String)| {
        let value = HeaderValue::from_str(text);
        let value = value
            .ok()
            .filter(|value| !value.is_empty())
            .ok_or_else(|| {
                Failure::refused(
                    format!("nobody can act as {text:?}"),
                    "correct --karmada-as, --karmada-as-group and --karmada-as-uid",
                )
            })?;
        Ok((HeaderName::from_static(name), value))
    };
    pairs.into_iter().map(header).collect()
}

/// Sends requests on, with headers that say as whom.
#[derive(Clone)]
struct Acting {
    client: Client,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Service<Request<Body>> for Acting {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Self { client, headers } = self.clone();
        Box::pin(async move {
            for (name, value) in headers {
                request.headers_mut().append(name, value);
            }
            client.send(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_an_actor_is_a_header() {
        let actor = Actor {
            user: "jane".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            uid: Some("7".to_owned()),
        };
        let shown: Vec<String> = headers(&actor)
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                "impersonate-user=jane",
                "impersonate-group=a",
                "impersonate-group=b",
                "impersonate-uid=7"
            ]
        );
        for user in ["", "a\nb"] {
            let actor = Actor {
                user: user.to_owned(),
                ..Actor::default()
            };
            assert!(headers(&actor).is_err(), "{user:?}");
        }
    }
}
