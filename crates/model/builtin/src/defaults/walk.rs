//! Carrying a plan out on a value.

use object::{
    Map, Value,
    quantity::{Quantity, Scale},
    time::{MicroTime, Time},
};

use super::plan::{Content, FieldPlan, Form, Plan, Plans, Step, is_zero};
use crate::types::TypeId;

/// Drops what says nothing and writes values in their canonical form, here and below.
pub(super) fn clean(plans: &Plans, id: TypeId, value: &mut Value) {
    let (Some(plan), Value::Object(fields)) = (plans.get(id.0), value) else {
        return;
    };
    fields.retain(|name, value| {
        let field = known(plan, name);
        !field.is_some_and(|field| field.drops_null && value.is_null() || field.zero.is(value))
    });
    for (name, value) in fields.iter_mut() {
        match known(plan, name).map_or(Content::Plain, |field| field.content) {
            Content::Plain => {}
            Content::Value(form) => rewrite(form, value),
            Content::Values(form) => each(value, |value| rewrite(form, value)),
            Content::Object(id) => clean(plans, id, value),
            Content::Objects(id) => each(value, |value| clean(plans, id, value)),
        }
    }
}

/// Fills in defaults, here and below. What a type fills in comes before what the types below it do.
pub(super) fn fill(plans: &Plans, id: TypeId, value: &mut Value) {
    let (Some(plan), Value::Object(fields)) = (plans.get(id.0), value) else {
        return;
    };
    if let Some(before) = plan.before {
        before(fields);
    }
    for step in &plan.steps {
        take(step, fields);
    }
    if let Some(after) = plan.after {
        after(fields);
    }
    for (name, value) in fields.iter_mut() {
        match known(plan, name).map_or(Content::Plain, |field| field.content) {
            Content::Object(id) => fill(plans, id, value),
            Content::Objects(id) => each(value, |value| fill(plans, id, value)),
            Content::Plain | Content::Value(_) | Content::Values(_) => {}
        }
    }
}

fn take(step: &Step, fields: &mut Map) {
    let absent = match fields.get(step.field) {
        None => true,
        Some(value) => step.zero_is_absent && is_zero(value) && is_like(value, &step.value),
    };
    if !absent {
        return;
    }
    if let Some((sibling, values)) = &step.condition {
        let found = fields.get(*sibling).and_then(Value::as_str);
        if !found.is_some_and(|found| values.contains(&found)) {
            return;
        }
    }
    fields.insert(step.field.to_owned(), step.value.clone());
}

/// Whether a value may stand where the other does: what is empty and of another type is a mistake, not absent.
fn is_like(value: &Value, other: &Value) -> bool {
    value.is_null() || std::mem::discriminant(value) == std::mem::discriminant(other)
}

fn known<'p>(plan: &'p Plan, name: &str) -> Option<&'p FieldPlan> {
    let place = plan
        .fields
        .binary_search_by(|field| field.name.cmp(name))
        .ok()?;
    plan.fields.get(place)
}

fn each(value: &mut Value, mut change: impl FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(change),
        Value::Object(fields) => fields.values_mut().for_each(&mut change),
        _ => {}
    }
}

/// Writes a value in its canonical form; what cannot be read stays for validation to complain about.
fn rewrite(form: Form, value: &mut Value) {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if matches!(form, Form::Quantity | Form::Resource) => {
            number.to_string()
        }
        // Upstream: a quantity that is read from nothing is none.
        Value::Null if matches!(form, Form::Quantity | Form::Resource) => "0".to_owned(),
        _ => return,
    };
    let canonical = match form {
        Form::Quantity => text
            .parse::<Quantity>()
            .ok()
            .map(|quantity| quantity.to_string()),
        Form::Resource => text
            .parse::<Quantity>()
            .ok()
            .map(|quantity| quantity.round_up(Scale::Milli).to_string()),
        Form::Time => text.parse::<Time>().ok().map(|time| time.to_string()),
        Form::MicroTime => text.parse::<MicroTime>().ok().map(|time| time.to_string()),
    };
    if let Some(canonical) = canonical {
        *value = Value::String(canonical);
    }
}
