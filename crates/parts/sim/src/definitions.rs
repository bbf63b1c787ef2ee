//! Users' own kinds: what a member serves follows its CustomResourceDefinitions.

use std::sync::Arc;

use kinds::Compiled;
use object::time::Time;
use object::{Object, Value};
use serde_json::json;
use serve::resource::{Resource, Table};

use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the base serves and every definition that can be served.
pub(crate) fn table<'o>(
    base: &Table,
    definitions: impl Iterator<Item = &'o Object>,
    compiled: &mut Compiled,
) -> Table {
    let value = |definition: &Object| Value::Object(definition.fields().clone());
    let definitions: Vec<Value> = definitions.map(value).collect();
    compiled.keep(definitions.iter());
    let mut table = base.clone();
    for definition in &definitions {
        if let Ok(resource) = judge(base, definition, compiled) {
            table.insert(resource);
        }
    }
    table
}

fn judge(
    base: &Table,
    definition: &Value,
    compiled: &mut Compiled,
) -> Result<Arc<Resource>, String> {
    let resource = compiled.resource(definition, None);
    let resource = resource.map_err(|error| error.to_string())?;
    let is_taken = base
        .iter()
        .any(|known| known.group == resource.group && known.plural == resource.plural);
    if is_taken {
        return Err(format!(
            "{}.{} is built in",
            resource.plural, resource.group
        ));
    }
    Ok(resource)
}

/// Writes the conditions clients wait for, if they are not there already.
pub(crate) fn plan(base: &Table, definition: &Object, now: Time) -> Plan {
    let mut plan = Plan::default();
    if definition.is_terminating() {
        return plan;
    }
    let value = Value::Object(definition.fields().clone());
    let verdict = judge(base, &value, &mut Compiled::default()).map(drop);
    let (state, names, established) = match &verdict {
        Ok(()) => (
            "True",
            ("NoConflicts", "no conflicts found"),
            (
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ),
        Err(why) => (
            "False",
            ("NotServed", why.as_str()),
            ("NotServed", why.as_str()),
        ),
    };
    let mut conditions = read::conditions(definition);
    for (kind, (reason, message)) in [("NamesAccepted", names), ("Established", established)] {
        let condition =
            json!({"type": kind, "status": state, "reason": reason, "message": message});
        read::put_condition(&mut conditions, condition, now);
    }
    let stored: Vec<&Value> = read::list(definition, &["spec", "versions"])
        .iter()
        .filter(|version| version.get("storage").and_then(Value::as_bool) == Some(true))
        .filter_map(|version| version.get("name"))
        .collect();
    let status = json!({
        "conditions": conditions, "acceptedNames": definition.at(&["spec", "names"]), "storedVersions": stored,
    });
    plan.status(
        Kind::CustomResourceDefinition,
        definition,
        status,
        Writer::Controllers,
    );
    plan
}
