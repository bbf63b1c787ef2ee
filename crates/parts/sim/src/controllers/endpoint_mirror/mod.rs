//! Endpoints that somebody wrote for a service without a selector are shown in slices too.
//!
//! Reads:  Endpoints and their services.
//! Writes: slices that Endpoints own.
//! Keeps:  whoever reads slices alone misses no address.

mod plan;

use std::sync::Arc;

use crate::controllers::slices;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};

use plan::Inputs;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "endpoint mirror",
    component: "endpoint-slice-mirroring-controller",
    wakes,
    plan,
};

/// Endpoints have the name of their service.
fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    match seen.kind {
        Kind::Endpoints | Kind::Service => keys.push(Arc::clone(&seen.key)),
        Kind::EndpointSlice => {
            let slice = seen.either();
            let slice =
                slice.filter(|slice| slice.label(slices::MANAGED_BY) == Some(plan::MANAGER));
            let key = slice.and_then(|slice| {
                let service = slice.label(slices::SERVICE)?;
                Some(format!("{}/{service}", slice.namespace()))
            });
            keys.extend(key.map(Arc::from));
        }
        _ => {}
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let Some(endpoints) = view.mirror.find(Kind::Endpoints, key) else {
        return Plan::default();
    };
    plan::plan(&Inputs {
        endpoints,
        service: view
            .mirror
            .find(Kind::Service, key)
            .map(|service| &**service),
        slices: &view.mirror.owned(endpoints.uid(), Kind::EndpointSlice),
    })
}
