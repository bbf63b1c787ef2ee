//! What is done to a value of each type, worked out once from the catalog.

use std::sync::LazyLock;

use object::Value;

use super::rules::{self, Rule};
use crate::types::{
    Assigned, Body, Catalog, Field, Published, Scalar, TypeDef, TypeExpr, TypeId, catalog,
};

/// The plans of all types, at the place of their [`TypeId`].
pub(super) type Plans = Vec<Plan>;

/// What is done to a value of one type.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The known fields, sorted by name.
    pub(super) fields: Vec<FieldPlan>,
    /// Values that do not depend on other fields, then those that do.
    pub(super) steps: Vec<Step>,
    /// A rule that must see what the author left out.
    pub(super) before: Option<Rule>,
    /// A rule that looks at the values filled in.
    pub(super) after: Option<Rule>,
}

/// What one field is to the walk.
#[derive(Debug)]
pub(super) struct FieldPlan {
    pub(super) name: &'static str,
    /// The zero that means the same as absent and is dropped.
    pub(super) zero: Zero,
    /// Whether `null` means the same as absent and is dropped.
    pub(super) drops_null: bool,
    pub(super) content: Content,
}

/// The zero of a field. What looks empty and has another type is a mistake, which validation must get to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    /// Zero, if there is one, differs from absent.
    Kept,
    /// `false`.
    Flag,
    /// `0`.
    Number,
    /// `""`.
    Text,
    /// `0` or `""`.
    NumberOrText,
    /// `[]`.
    List,
    /// `{}`.
    Map,
}

impl Zero {
    /// Whether a value is this zero.
    pub(super) fn is(self, value: &Value) -> bool {
        let fits = match self {
            Self::Kept => false,
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::NumberOrText => value.is_number() || value.is_string(),
            Self::List => value.is_array(),
            Self::Map => value.is_object(),
        };
        fits && is_zero(value)
    }

    fn of(field: &Field<'static>) -> Self {
        match &field.ty {
            _ if field.required || field.shown => Self::Kept,
            _ if field.keeps_zero => Self::Kept,
            TypeExpr::List(_) => Self::List,
            TypeExpr::Map(_) => Self::Map,
            TypeExpr::Choice(_) => Self::Text,
            TypeExpr::Named { .. } => Self::Kept,
            TypeExpr::Scalar(scalar) => match scalar {
                Scalar::String | Scalar::Byte | Scalar::DateTime => Self::Text,
                Scalar::Bool => Self::Flag,
                Scalar::Int32 | Scalar::Int64 | Scalar::Double => Self::Number,
                Scalar::Quantity | Scalar::IntOrString => Self::NumberOrText,
                Scalar::Object | Scalar::Any => Self::Kept,
            },
        }
    }
}

/// What is below a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// Nothing the walk cares about.
    Plain,
    /// A value with a canonical form.
    Value(Form),
    /// A list or map of such values.
    Values(Form),
    /// An object of another type.
    Object(TypeId),
    /// A list or map of objects of another type.
    Objects(TypeId),
}

/// Values that can be written in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A quantity.
    Quantity,
    /// A quantity of a resource: no finer than a thousandth.
    Resource,
    /// A time to the second.
    Time,
    /// A time to the microsecond.
    MicroTime,
}

/// One value to fill in.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) field: &'static str,
    pub(super) value: Value,
    pub(super) zero_is_absent: bool,
    /// A sibling field and the values it must have.
    pub(super) condition: Option<(&'static str, Vec<&'static str>)>,
}

/// The plans of all built-in types, worked out on first use.
pub(super) fn plans() -> &'static Plans {
    static PLANS: LazyLock<Plans> = LazyLock::new(|| {
        let catalog = catalog();
        catalog
            .iter()
            .map(|(name, def)| plan(catalog, name, def))
            .collect()
    });
    &PLANS
}

fn plan(catalog: &Catalog, name: &str, def: &TypeDef<'static>) -> Plan {
    let (before, after) = rules::of(name);
    let Body::Fields(fields) = &def.body else {
        return Plan {
            before,
            after,
            ..Plan::default()
        };
    };
    let mut steps: Vec<Step> = fields.iter().filter_map(step).collect();
    steps.sort_by_key(|step| step.condition.is_some());
    steps.extend(fields.iter().filter_map(|field| shown(catalog, field)));
    let resources = name.starts_with("io.k8s.api.core.") || name.starts_with("io.k8s.api.node.");
    let fields = fields
        .iter()
        .map(|field| field_plan(catalog, field, resources))
        .collect();
    Plan {
        fields,
        steps,
        before,
        after,
    }
}

fn field_plan(catalog: &Catalog, field: &Field<'static>, resources: bool) -> FieldPlan {
    let content = match &field.ty {
        TypeExpr::List(inner) => match content(catalog, inner) {
            Content::Value(form) => Content::Values(form),
            Content::Object(id) => Content::Objects(id),
            _ => Content::Plain,
        },
        TypeExpr::Map(inner) => match content(catalog, inner) {
            Content::Value(Form::Quantity) if resources => Content::Values(Form::Resource),
            Content::Value(form) => Content::Values(form),
            Content::Object(id) => Content::Objects(id),
            _ => Content::Plain,
        },
        ty => content(catalog, ty),
    };
    let any = is_any(catalog, &field.ty);
    FieldPlan {
        name: field.name,
        zero: Zero::of(field),
        drops_null: !any,
        content,
    }
}

fn content(catalog: &Catalog, ty: &TypeExpr<'static>) -> Content {
    let Some(id) = catalog.named(ty) else {
        return Content::Plain;
    };
    let def = catalog.def(id);
    match def.body {
        Body::Fields(_) => Content::Object(id),
        Body::Value(Scalar::Quantity) => Content::Value(Form::Quantity),
        Body::Value(Scalar::DateTime) if def.name == "MicroTime" => Content::Value(Form::MicroTime),
        Body::Value(Scalar::DateTime) => Content::Value(Form::Time),
        Body::Value(_) => Content::Plain,
    }
}

fn is_any(catalog: &Catalog, ty: &TypeExpr<'static>) -> bool {
    match (ty, catalog.named(ty)) {
        (TypeExpr::Scalar(scalar), _) => *scalar == Scalar::Any,
        (_, Some(id)) => matches!(catalog.def(id).body, Body::Value(Scalar::Any)),
        _ => false,
    }
}

/// The default of a field that is worth filling in.
fn step(field: &Field<'static>) -> Option<Step> {
    if let Some(Assigned {
        value,
        zero_is_absent,
        condition,
    }) = &field.assigned
    {
        let (value, condition) = (value.clone(), condition.clone());
        return Some(Step {
            field: field.name,
            value,
            zero_is_absent: *zero_is_absent,
            condition,
        });
    }
    let Published::Value(value) = &field.published else {
        return None;
    };
    let worth = !is_zero(value) || field.keeps_zero || value.is_object();
    let step = Step {
        field: field.name,
        value: value.clone(),
        zero_is_absent: !field.keeps_zero,
        condition: None,
    };
    worth.then_some(step)
}

/// The value under which a field that was never set is shown.
fn shown(catalog: &Catalog, field: &Field<'static>) -> Option<Step> {
    if !(field.required || field.shown) || field.published == Published::None {
        return None;
    }
    let value = field.published_default().or_else(|| field.unset(catalog))?;
    Some(Step {
        field: field.name,
        value,
        zero_is_absent: false,
        condition: None,
    })
}

/// Whether a value is the zero of its type.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
