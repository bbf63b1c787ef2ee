//! Rules that follow from the types: choices, required texts, and the rules of each type wherever it occurs.

use std::sync::LazyLock;

use super::{
    rules::{self, Rule},
    spot::{Errors, Spot},
};
use crate::types::{Body, Catalog, Field, Scalar, TypeExpr, TypeId, catalog};

/// What is checked of a value of one type.
struct Plan {
    fields: Vec<Check>,
    rule: Option<Rule>,
}

/// What is checked of one field.
struct Check {
    name: &'static str,
    content: Content,
    /// A text that must not be empty.
    required: bool,
    many: bool,
}

enum Content {
    Plain,
    Choice(Vec<&'static str>),
    Type(TypeId),
}

/// Required texts that may be empty all the same.
const MAY_BE_EMPTY: [(&str, &str); 3] = [
    ("HTTPHeader", "value"),
    ("Sysctl", "value"),
    ("NodeAddress", "address"),
];

/// Types whose rules judge the choices among their fields: an empty text is none of them there.
const OWN_CHOICES: [&str; 4] = [
    "MatchResources",
    "MutatingWebhook",
    "ValidatingAdmissionPolicySpec",
    "ValidatingWebhook",
];

/// Reports what is wrong with `spot`, a value of the type called `name`, and with everything below it.
pub(super) fn check(name: &str, spot: &Spot<'_>, errors: &mut Errors) {
    if let Some(id) = catalog().id(name) {
        walk(plans(), id, spot, errors);
    }
}

fn plans() -> &'static [Plan] {
    static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
        let catalog = catalog();
        let plan = |(name, def): (&str, &crate::types::TypeDef<'static>)| {
            let fields: &[Field<'static>] = match &def.body {
                // A schema has its own rules, a status belongs to controllers, metadata is checked by itself.
                Body::Fields(_) if rules::is_closed(name) => &[],
                Body::Fields(fields) => fields,
                Body::Value(_) => &[],
            };
            let checks = fields
                .iter()
                .filter_map(|field| field_check(catalog, &def.name, field));
            Plan {
                fields: checks.collect(),
                rule: rules::of(name),
            }
        };
        catalog.iter().map(plan).collect()
    });
    &PLANS
}

fn field_check(catalog: &Catalog, type_name: &str, field: &Field<'static>) -> Option<Check> {
    if matches!(field.name, "metadata" | "status") {
        return None;
    }
    let (ty, many) = match &field.ty {
        TypeExpr::List(inner) | TypeExpr::Map(inner) => (&**inner, true),
        ty => (ty, false),
    };
    let content = match ty {
        TypeExpr::Choice(_) if OWN_CHOICES.contains(&type_name) => Content::Plain,
        TypeExpr::Choice(values) => Content::Choice(values.clone()),
        ty => catalog.named(ty).map_or(Content::Plain, Content::Type),
    };
    let text = matches!(
        ty,
        TypeExpr::Scalar(Scalar::String | Scalar::Byte) | TypeExpr::Choice(_)
    );
    let required = field.required
        && !many
        && text
        && !field.keeps_zero
        && !MAY_BE_EMPTY.contains(&(type_name, field.name));
    let worth = required || !matches!(content, Content::Plain);
    worth.then_some(Check {
        name: field.name,
        content,
        required,
        many,
    })
}

fn walk(plans: &[Plan], id: TypeId, spot: &Spot<'_>, errors: &mut Errors) {
    let Some(plan) = plans.get(id.0).filter(|_| spot.map().is_some()) else {
        return;
    };
    for check in &plan.fields {
        let field = spot.field(check.name);
        if field.is_empty() {
            if check.required {
                errors.push(field.required(""));
            }
            // An object without fields may still lack some that are required.
            if !field.is_set() {
                continue;
            }
        }
        match &check.content {
            Content::Plain => {}
            Content::Choice(values) if check.many => {
                field
                    .elements()
                    .for_each(|element| choose(&element, values, errors));
            }
            Content::Choice(values) => choose(&field, values, errors),
            Content::Type(id) if !check.many => walk(plans, *id, &field, errors),
            Content::Type(id) if field.value.is_array() => {
                field
                    .elements()
                    .for_each(|element| walk(plans, *id, &element, errors));
            }
            Content::Type(id) => field
                .entries()
                .for_each(|(_, entry)| walk(plans, *id, &entry, errors)),
        }
    }
    if let Some(rule) = plan.rule {
        rule(spot, errors);
    }
}

fn choose(spot: &Spot<'_>, values: &[&str], errors: &mut Errors) {
    if !spot.is_empty() && !values.contains(&spot.text()) {
        errors.push(spot.not_supported(values));
    }
}
