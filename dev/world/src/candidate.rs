//! A control plane that is one of several on the same store.

use std::ops::Deref;
use std::sync::Arc;

use assembly::plane;
use runtime::Tasks;

use crate::api::Api;
use crate::world::World;

/// A control plane that answers, and works while it is the one of several that shall. It is also its API, as its
/// administrator sees it. Dropped, it is gone without warning.
pub struct Candidate {
    api: Api,
    _tasks: Tasks,
}

impl World {
    /// Starts a control plane that stands for the Lease with the others on the same store. The one that every world
    /// begins with does not ask, so stop it before.
    pub async fn stand(&self, name: &str) -> Candidate {
        let (inside, connector) = self.ground();
        let mut tasks = Tasks::new();
        let started = plane::start_inside(inside, Arc::new(connector), &mut tasks).await;
        let plane = started.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let api = Api::new(name, plane.administrator());
        plane.stand(self.settings().clone());
        Candidate { api, _tasks: tasks }
    }
}

impl Deref for Candidate {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}
