//! The catalog as messages: how objects of built-in kinds are sent in protobuf.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use schema::wire::{Field as Sent, Form, Many, MessageId, Tables, Zero};

use super::catalog::{META, catalog};
use super::{Body, Catalog, Field, Scalar, TypeExpr};
use crate::kinds::kinds;

/// Metadata of any kind goes by this version, options and answers by the core group's.
const META_VERSIONS: [&str; 2] = ["v1", "meta.k8s.io/v1"];

/// The messages of all built-in kinds, made on first use.
#[must_use]
pub fn wire() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(|| build(catalog()));
    &TABLES
}

fn build(catalog: &Catalog) -> Tables {
    let mut tables = Tables::default();
    let with_fields: Vec<(&str, &[Field<'static>])> = catalog
        .iter()
        .filter_map(|(name, def)| match &def.body {
            Body::Fields(fields) => Some((name, fields.as_slice())),
            Body::Value(_) => None,
        })
        .collect();
    let ids: BTreeMap<&str, MessageId> = with_fields
        .iter()
        .map(|(name, _)| (*name, tables.reserve()))
        .collect();
    for (name, fields) in &with_fields {
        let sent = fields
            .iter()
            .filter(|field| !field.number.is_empty())
            .map(|field| sent(catalog, &ids, name, field));
        if let Some(id) = ids.get(name) {
            tables.define(*id, sent.collect());
        }
    }
    let mut packages: BTreeMap<&str, Vec<String>> = kinds()
        .iter()
        .map(|kind| (kind.package, vec![kind.api_version()]))
        .collect();
    packages.insert(META, META_VERSIONS.map(str::to_owned).into());
    for (name, id) in &ids {
        let Some((package, kind)) = name.rsplit_once('.') else {
            continue;
        };
        for api_version in packages.get(package).into_iter().flatten() {
            tables.name(api_version, kind, *id);
        }
    }
    tables
}

fn sent(
    catalog: &Catalog,
    ids: &BTreeMap<&str, MessageId>,
    within: &str,
    field: &Field<'static>,
) -> Sent {
    let (many, form) = match &field.ty {
        // The one list of texts that is a message of its own.
        TypeExpr::List(_) if field.name == "verbs" && within.ends_with("meta.v1.APIResource") => {
            (Many::One, Form::Texts)
        }
        TypeExpr::List(items) => (Many::List, form(catalog, ids, items)),
        TypeExpr::Map(values) => (Many::Map, form(catalog, ids, values)),
        one => (Many::One, form(catalog, ids, one)),
    };
    // Numbers-or-texts are optional by being absent, but for those that every answer shows.
    let zero = match form {
        Form::IntOrString if field.shown => Zero::Unset,
        Form::IntOrString => Zero::Set,
        _ if field.keeps_zero || field.required || field.shown => Zero::Set,
        _ => Zero::Unset,
    };
    Sent {
        name: Arc::from(field.name),
        number: field.number.clone(),
        many,
        form,
        zero,
    }
}

fn form(catalog: &Catalog, ids: &BTreeMap<&str, MessageId>, ty: &TypeExpr<'static>) -> Form {
    match ty {
        TypeExpr::Scalar(scalar) => scalar_form(*scalar),
        TypeExpr::Choice(_) => Form::Text,
        // Only lists of texts are within other lists and maps.
        TypeExpr::List(_) | TypeExpr::Map(_) => Form::Texts,
        TypeExpr::Named { package, name } => {
            let message = |name: &str| ids.get(format!("{package}.{name}").as_str()).copied();
            if let Some(id) = message(name) {
                return Form::Message(id);
            }
            let whole = message(name.split("Or").next().unwrap_or_default());
            match (*name, whole) {
                ("MicroTime", _) => Form::MicroTime,
                ("JSONSchemaPropsOrArray", Some(id)) => Form::MessageOrList(id),
                ("JSONSchemaPropsOrBool", Some(id)) => Form::MessageOrBool(id),
                ("JSONSchemaPropsOrStringArray", Some(id)) => Form::MessageOrTexts(id),
                _ => match catalog.named(ty).map(|id| &catalog.def(id).body) {
                    Some(Body::Value(scalar)) => scalar_form(*scalar),
                    _ => unreachable!("invariant: every type that is referred to is defined"),
                },
            }
        }
    }
}

fn scalar_form(scalar: Scalar) -> Form {
    match scalar {
        Scalar::String => Form::Text,
        Scalar::Bool => Form::Bool,
        Scalar::Int32 => Form::Int32,
        Scalar::Int64 => Form::Int64,
        Scalar::Double => Form::Double,
        Scalar::Byte => Form::Bytes,
        Scalar::DateTime => Form::Time,
        Scalar::Quantity => Form::Quantity,
        Scalar::IntOrString => Form::IntOrString,
        Scalar::Object | Scalar::Any => Form::Json,
    }
}
