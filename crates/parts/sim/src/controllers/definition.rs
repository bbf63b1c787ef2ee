//! CustomResourceDefinitions are told that their kinds are served.

use std::sync::Arc;

use crate::definitions;
use crate::engine::action::Plan;
use crate::engine::kind::Kind;
use crate::engine::mirror::{Mirror, Seen};
use crate::engine::{Controller, View};
use crate::tables;

pub(crate) const CONTROLLER: Controller = Controller {
    name: "definition",
    component: "apiextensions",
    wakes,
    plan,
};

fn wakes(seen: &Seen, _: &Mirror, keys: &mut Vec<Arc<str>>) {
    if seen.kind == Kind::CustomResourceDefinition && seen.after.is_some() {
        keys.push(Arc::clone(&seen.key));
    }
}

fn plan(view: &View<'_>, key: &str) -> Plan {
    let definition = view.mirror.find(Kind::CustomResourceDefinition, key);
    definition.map_or_else(Plan::default, |definition| {
        definitions::plan(tables::base(), definition, view.now)
    })
}
