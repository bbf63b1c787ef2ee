//! Which rules a role has that is put together from others.

use intent::{Action, Part, Plan};
use object::field::FieldPath;
use object::selector::{LabelSelector, Selector};
use object::{Object, Value};
use serde_json::json;

use crate::resources;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) role: &'a Object,
    /// All roles, itself included, by name.
    pub(crate) roles: &'a [std::sync::Arc<Object>],
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let role = inputs.role;
    if role.is_terminating() {
        return plan;
    }
    let selectors = selectors(role, &mut plan);
    if selectors.is_empty() {
        return plan;
    }
    let mut rules: Vec<&Value> = Vec::new();
    for selector in &selectors {
        // Upstream: selector by selector, each role by name, each rule once.
        for other in inputs.roles {
            if other.name() == role.name() || !selector.matches(|key| other.label(key)) {
                continue;
            }
            let found = other.at(&["rules"]).and_then(Value::as_array);
            for rule in found.into_iter().flatten() {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    let known = role.at(&["rules"]).and_then(Value::as_array);
    let known: Vec<&Value> = known.into_iter().flatten().collect();
    if known != rules {
        let patch = json!({"rules": rules});
        plan.push(Action::patch(
            resources::cluster_roles(),
            role,
            patch,
            Part::Object,
        ));
    }
    plan
}

/// The selectors that can be read; the others are problems and select nothing.
fn selectors(role: &Object, plan: &mut Plan) -> Vec<Selector> {
    let path = FieldPath::new("aggregationRule").child("clusterRoleSelectors");
    let written = role.at(&["aggregationRule", "clusterRoleSelectors"]);
    let written = written.and_then(Value::as_array).into_iter().flatten();
    let mut selectors = Vec::new();
    for (place, selector) in written.enumerate() {
        let read = match object::parse::shape::<LabelSelector, _>(selector) {
            Ok(selector) => selector.compile(&path.index(place)),
            Err(error) => {
                plan.problem(role.name(), error.to_string());
                continue;
            }
        };
        match read {
            Ok(selector) => selectors.push(selector),
            Err(errors) => {
                for error in errors {
                    plan.problem(role.name(), error.to_string());
                }
            }
        }
    }
    selectors
}
