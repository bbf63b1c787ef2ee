//! A simulated member as a test sees it.

use std::ops::Deref;

use access::names::MASTERS;
use client::Client;
use http::{Request, Response, StatusCode};
use serve::body::Body;
use serve::call::User;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::api::Api;
use crate::wire::Wire;

/// A simulated member. It is also its API, as its own administrator sees it, past all faults of the network.
#[derive(Clone)]
pub struct SimulatedMember {
    name: String,
    address: String,
    member: sim::Member,
    wire: Wire,
    api: Api,
}

impl SimulatedMember {
    pub(crate) fn new(name: String, address: String, member: sim::Member, wire: Wire) -> Self {
        let inside = Inside(member.clone());
        let api = Api::new(name.clone(), Client::in_process(inside));
        Self {
            name,
            address,
            member,
            wire,
            api,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the control plane reaches it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Trouble on command.
    #[must_use]
    pub fn faults(&self) -> &sim::Faults {
        self.member.faults()
    }

    /// The simulator itself.
    #[must_use]
    pub fn simulator(&self) -> &sim::Member {
        &self.member
    }

    /// Stops everything in it and starts anew, with what was stored or without; heals all faults.
    pub async fn restart(&self, keep_data: bool) {
        if let Err(error) = self.member.restart(keep_data).await {
            panic!("{} does not restart: {error}", self.name);
        }
    }

    /// Lets every connection to it fail, as when its certificate has expired; `None` mends it.
    pub fn refuse_connections(&self, why: Option<&str>) {
        self.wire.refuse(why);
    }

    /// Answers calls of a path and all below it with a status, in the place of the member; `None` lets them through.
    pub fn answer_with(&self, path: &str, status: Option<StatusCode>) {
        self.wire.answer(path, status);
    }

    /// Lets another cluster answer at its address, one that takes whatever credentials are shown; `None` mends it.
    pub fn lead_to(&self, another: Option<&Self>) {
        self.wire.lead_to(another.map(Self::simulator));
    }

    /// Begins to note the calls that the control plane and its users make, as `GET /path?query`; what was noted until now.
    pub fn calls(&self) -> Vec<String> {
        self.wire.note()
    }
}

impl Deref for SimulatedMember {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

/// Asks a member's server itself, as its administrator.
#[derive(Clone)]
struct Inside(sim::Member);

impl tower_service::Service<Request<client::Body>> for Inside {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let server = self.0.server();
        Box::pin(async move { Ok(server.answer(administrator(), request).await) })
    }
}

/// Who may do everything in a member.
pub(crate) fn administrator() -> User {
    User {
        name: "kubernetes-admin".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..User::default()
    }
}
