//! A custom resource's schema as it was written, before anything is known to be right about it.

use std::collections::BTreeMap;

use object::{
    Map, Value,
    field::{FieldError, FieldPath},
};

use crate::rules::Expression;

/// How deep schemas may nest; far more than any real one, far less than the stack.
const MAX_DEPTH: usize = 100;

/// What stands under `items`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items {
    One(Box<Props>),
    Many(Vec<Props>),
}

/// What stands under `additionalProperties`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Additional {
    Flag(bool),
    Schema(Box<Props>),
}

/// The fields of a `JSONSchemaProps`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Props {
    pub ty: String,
    pub description: String,
    pub title: String,
    pub format: String,
    pub pattern: String,
    pub nullable: bool,
    pub unique_items: bool,
    pub exclusive_maximum: bool,
    pub exclusive_minimum: bool,
    pub maximum: Option<f64>,
    pub minimum: Option<f64>,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub default: Option<Value>,
    pub example: Option<Value>,
    pub external_docs: Option<Value>,
    pub enumeration: Vec<Value>,
    pub required: Vec<String>,
    pub properties: BTreeMap<String, Props>,
    pub additional: Option<Additional>,
    pub items: Option<Items>,
    pub all_of: Vec<Props>,
    pub any_of: Vec<Props>,
    pub one_of: Vec<Props>,
    pub not: Option<Box<Props>>,
    pub preserve_unknown: Option<bool>,
    pub embedded: bool,
    pub int_or_string: bool,
    pub list_type: Option<String>,
    pub list_map_keys: Vec<String>,
    pub map_type: Option<String>,
    pub validations: Vec<Expression>,
    /// The constructs that are refused wherever they stand.
    pub unsupported: Vec<&'static str>,
}

/// The constructs JSON schema has and custom resources may not use, in the order they are reported.
const UNSUPPORTED: [&str; 7] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
    "$schema",
];

impl Props {
    /// Reads a schema; wrong JSON types are errors, unknown fields are ignored.
    pub(super) fn read(value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) -> Self {
        Self::read_at(value, path, 0, errors)
    }

    fn read_at(
        value: &Value,
        path: &FieldPath,
        depth: usize,
        errors: &mut Vec<FieldError>,
    ) -> Self {
        let Value::Object(fields) = value else {
            errors.push(FieldError::invalid(
                path.clone(),
                value.clone(),
                "must be a schema",
            ));
            return Self::default();
        };
        if depth > MAX_DEPTH {
            errors.push(FieldError::forbidden(
                path.clone(),
                format!("schemas may not nest deeper than {MAX_DEPTH} levels"),
            ));
            return Self::default();
        }
        let mut reader = Reader {
            fields,
            path,
            depth,
            errors,
        };
        Self {
            ty: reader.text("type"),
            description: reader.text("description"),
            title: reader.text("title"),
            format: reader.text("format"),
            pattern: reader.text("pattern"),
            nullable: reader.flag("nullable"),
            unique_items: reader.flag("uniqueItems"),
            exclusive_maximum: reader.flag("exclusiveMaximum"),
            exclusive_minimum: reader.flag("exclusiveMinimum"),
            maximum: reader.number("maximum"),
            minimum: reader.number("minimum"),
            multiple_of: reader.number("multipleOf"),
            max_length: reader.whole("maxLength"),
            min_length: reader.whole("minLength"),
            max_items: reader.whole("maxItems"),
            min_items: reader.whole("minItems"),
            max_properties: reader.whole("maxProperties"),
            min_properties: reader.whole("minProperties"),
            default: reader.present("default").cloned(),
            example: reader.present("example").cloned(),
            external_docs: reader.present("externalDocs").cloned(),
            enumeration: reader.list("enum").to_vec(),
            required: reader.texts("required"),
            properties: reader.properties(),
            additional: reader.additional(),
            items: reader.items(),
            all_of: reader.schemas("allOf"),
            any_of: reader.schemas("anyOf"),
            one_of: reader.schemas("oneOf"),
            not: reader
                .present("not")
                .map(|not| Box::new(reader.schema(not, &path.child("not")))),
            preserve_unknown: reader.optional_flag("x-kubernetes-preserve-unknown-fields"),
            embedded: reader.flag("x-kubernetes-embedded-resource"),
            int_or_string: reader.flag("x-kubernetes-int-or-string"),
            list_type: reader.optional_text("x-kubernetes-list-type"),
            list_map_keys: reader.texts("x-kubernetes-list-map-keys"),
            map_type: reader.optional_text("x-kubernetes-map-type"),
            validations: reader.validations(),
            unsupported: UNSUPPORTED
                .into_iter()
                .filter(|name| reader.is_used(name))
                .collect(),
        }
    }

    /// The single schema under `items`.
    pub(super) fn item(&self) -> Option<&Props> {
        match &self.items {
            Some(Items::One(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema under `additionalProperties`.
    pub(super) fn additional_schema(&self) -> Option<&Props> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// Why the schema cannot be converted into one of nodes, for the first construct that keeps it from it.
    pub(super) fn first_obstacle(&self) -> Option<String> {
        if let Some(name) = self.unsupported.first() {
            return Some(format!(
                "OpenAPIV3Schema '{}' is not supported",
                if *name == "$schema" { "schema" } else { name }
            ));
        }
        if matches!(&self.items, Some(Items::Many(items)) if !items.is_empty()) {
            return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        if self.preserve_unknown == Some(false) {
            return Some(
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
                    .to_owned(),
            );
        }
        let branches = self
            .all_of
            .iter()
            .chain(&self.any_of)
            .chain(&self.one_of)
            .chain(self.not.as_deref());
        let children = self
            .properties
            .values()
            .chain(self.item())
            .chain(self.additional_schema())
            .chain(branches);
        children.into_iter().find_map(Self::first_obstacle)
    }

    /// Whether unknown fields are kept.
    pub(super) fn preserves(&self) -> bool {
        self.preserve_unknown == Some(true)
    }
}

struct Reader<'a> {
    fields: &'a Map,
    path: &'a FieldPath,
    depth: usize,
    errors: &'a mut Vec<FieldError>,
}

impl<'a> Reader<'a> {
    /// A field that is there and not null.
    fn present(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn refuse(&mut self, name: &str, value: &Value, expected: &str) {
        let error = FieldError::invalid(
            self.path.child(name),
            value.clone(),
            format!("must be {expected}"),
        );
        self.errors.push(error);
    }

    fn optional_text(&mut self, name: &str) -> Option<String> {
        let value = self.present(name)?;
        if let Value::String(text) = value {
            return Some(text.clone());
        }
        self.refuse(name, value, "a string");
        None
    }

    fn text(&mut self, name: &str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    fn optional_flag(&mut self, name: &str) -> Option<bool> {
        let value = self.present(name)?;
        if let Value::Bool(flag) = value {
            return Some(*flag);
        }
        self.refuse(name, value, "true or false");
        None
    }

    fn flag(&mut self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or_default()
    }

    fn number(&mut self, name: &str) -> Option<f64> {
        let value = self.present(name)?;
        let number = value.as_f64();
        if number.is_none() {
            self.refuse(name, value, "a number");
        }
        number
    }

    fn whole(&mut self, name: &str) -> Option<i64> {
        let value = self.present(name)?;
        let number = value.as_i64();
        if number.is_none() {
            self.refuse(name, value, "an integer");
        }
        number
    }

    fn list(&mut self, name: &str) -> &'a [Value] {
        match self.present(name) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.refuse(name, other, "a list");
                &[]
            }
        }
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for value in self.list(name) {
            match value {
                Value::String(text) => texts.push(text.clone()),
                other => self.refuse(name, other, "a list of strings"),
            }
        }
        texts
    }

    fn schema(&mut self, value: &Value, path: &FieldPath) -> Props {
        Props::read_at(value, path, self.depth + 1, self.errors)
    }

    fn schemas(&mut self, name: &str) -> Vec<Props> {
        let path = self.path.child(name);
        let list = self.list(name).iter().enumerate();
        list.map(|(index, value)| self.schema(value, &path.index(index)))
            .collect()
    }

    fn properties(&mut self) -> BTreeMap<String, Props> {
        let path = self.path.child("properties");
        match self.present("properties") {
            None => BTreeMap::new(),
            Some(Value::Object(fields)) => fields
                .iter()
                .map(|(name, value)| (name.clone(), self.schema(value, &path.key(name))))
                .collect(),
            Some(other) => {
                self.refuse("properties", other, "an object");
                BTreeMap::new()
            }
        }
    }

    fn additional(&mut self) -> Option<Additional> {
        let value = self.present("additionalProperties")?;
        if let Value::Bool(flag) = value {
            return Some(Additional::Flag(*flag));
        }
        let path = self.path.child("additionalProperties");
        Some(Additional::Schema(Box::new(self.schema(value, &path))))
    }

    fn items(&mut self) -> Option<Items> {
        let value = self.present("items")?;
        let path = self.path.child("items");
        if let Value::Array(schemas) = value {
            let schemas = schemas
                .iter()
                .enumerate()
                .map(|(index, value)| self.schema(value, &path.index(index)));
            return Some(Items::Many(schemas.collect()));
        }
        Some(Items::One(Box::new(self.schema(value, &path))))
    }

    fn validations(&mut self) -> Vec<Expression> {
        const NAME: &str = "x-kubernetes-validations";
        let mut rules = Vec::new();
        for (index, value) in self.list(NAME).iter().enumerate() {
            let path = self.path.child(NAME).index(index);
            let Value::Object(fields) = value else {
                self.errors
                    .push(FieldError::invalid(path, value.clone(), "must be a rule"));
                continue;
            };
            let mut reader = Reader {
                fields,
                path: &path,
                depth: self.depth,
                errors: self.errors,
            };
            rules.push(Expression {
                rule: reader.text("rule").into(),
                message: reader.optional_text("message").map(Into::into),
                message_expression: reader.optional_text("messageExpression").map(Into::into),
                reason: reader.optional_text("reason").map(Into::into),
                field_path: reader.optional_text("fieldPath").map(Into::into),
                optional_old_self: reader.optional_flag("optionalOldSelf"),
            });
        }
        rules
    }

    /// Whether a refused construct is really there: an empty one says nothing.
    fn is_used(&self, name: &str) -> bool {
        match self.present(name) {
            None => false,
            Some(Value::String(text)) => name == "$ref" || !text.is_empty(),
            Some(Value::Object(fields)) => {
                name == "dependencies" || name == "additionalItems" || !fields.is_empty()
            }
            Some(_) => true,
        }
    }
}
