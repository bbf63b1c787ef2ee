//! Rules of a schema compiled, each at its place, with the type it sees there.

use std::sync::Arc;

use object::field::{FieldError, FieldPath};
use schema::rules::Expression;
use schema::{Schema, SchemaId};

use super::types::{escaped, type_of};
use super::{Place, Rule, correlation};
use crate::environment::Environment;
use crate::program::Program;
use crate::ty::Type;

/// The rules below the root; `None` if there are none.
pub(super) fn rules(schema: &Schema, path: &FieldPath) -> Result<Option<Place>, Vec<FieldError>> {
    let mut compiler = Compiler {
        schema,
        errors: Vec::new(),
    };
    let ty = type_of(schema, schema.root_id(), true);
    let root = compiler.place(schema.root_id(), ty.as_ref(), path, None);
    if compiler.errors.is_empty() {
        Ok(root)
    } else {
        Err(compiler.errors)
    }
}

struct Compiler<'s> {
    schema: &'s Schema,
    errors: Vec<FieldError>,
}

impl Compiler<'_> {
    /// `unrelated` is the list around, if old and new elements of it cannot be told to be the same.
    fn place(
        &mut self,
        id: SchemaId,
        ty: Option<&Type>,
        path: &FieldPath,
        unrelated: Option<&FieldPath>,
    ) -> Option<Place> {
        let node = self.schema.node(id);
        let (keys, correlates) = correlation(&node.list, node.map);
        let mut place = Place {
            type_name: name_of(node.ty),
            correlates,
            ..Place::default()
        };
        if let Some(rules) = node.rules.as_deref() {
            place.rules = self.expressions(&rules.expressions, ty, path, unrelated);
        }
        let atomic = (!correlates).then_some(path);
        let inside = unrelated.or(atomic);
        for property in &node.properties {
            let below = path.child("properties").key(&property.name);
            let ty = match ty {
                Some(Type::Object(object)) => escaped(&property.name)
                    .and_then(|name| object.fields.get(name.as_str()))
                    .map(|field| &field.ty),
                _ => None,
            };
            if let Some(inner) = self.place(property.schema, ty, &below, inside) {
                place.fields.insert(Arc::clone(&property.name), inner);
            }
        }
        if let Some(values) = node.values {
            let ty = match ty {
                Some(Type::Map(_, values)) => Some(&**values),
                _ => None,
            };
            let below = path.child("additionalProperties");
            place.values = self.place(values, ty, &below, inside).map(Box::new);
        }
        if let Some(items) = node.items {
            let ty = match ty {
                Some(Type::List(items)) => Some(&**items),
                _ => None,
            };
            let below = path.child("items");
            let unkeyed = keys.is_none().then_some(path);
            let inner = self.place(items, ty, &below, unrelated.or(unkeyed));
            place.items = inner.map(Box::new);
        }
        place.keys = keys;
        (!place.is_empty()).then_some(place)
    }

    fn expressions(
        &mut self,
        expressions: &[Expression],
        ty: Option<&Type>,
        path: &FieldPath,
        unrelated: Option<&FieldPath>,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (position, expression) in expressions.iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(position);
            let Some(ty) = ty else {
                self.errors.push(FieldError::invalid(
                    path,
                    &*expression.rule,
                    "rule declared on schema that does not support validation rules type",
                ));
                continue;
            };
            rules.extend(self.expression(expression, ty, &path, unrelated));
        }
        rules
    }

    fn expression(
        &mut self,
        expression: &Expression,
        ty: &Type,
        path: &FieldPath,
        unrelated: Option<&FieldPath>,
    ) -> Option<Rule> {
        let is_optional = expression.optional_old_self == Some(true);
        let old = if is_optional {
            Type::optional(ty.clone())
        } else {
            ty.clone()
        };
        let environment = Arc::new(Environment::rule(ty.clone(), old));
        let program = self.compiled(
            &expression.rule,
            &environment,
            &path.child("rule"),
            &Type::Bool,
            [
                "compilation failed",
                "cel expression must evaluate to a bool",
            ],
        )?;
        let message = match expression.message_expression.as_deref() {
            None => None,
            Some(text) if text.trim().is_empty() => None,
            Some(text) => self.compiled(
                text,
                &environment,
                &path.child("messageExpression"),
                &Type::String,
                [
                    "messageExpression compilation failed",
                    "messageExpression must evaluate to a string",
                ],
            ),
        };
        let is_transition = program.uses("oldSelf");
        if expression.optional_old_self.is_some() && !is_transition {
            self.errors.push(FieldError::invalid(
                path.child("optionalOldSelf"),
                is_optional,
                "may not be set if oldSelf is not used in rule",
            ));
        }
        if let (true, Some(around)) = (is_transition, unrelated) {
            self.errors.push(FieldError::invalid(
                path.child("rule"),
                &*expression.rule,
                format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
                ),
            ));
        }
        Some(Rule {
            text: expression.clone(),
            program,
            message,
            is_transition,
            is_optional,
        })
    }

    fn compiled(
        &mut self,
        source: &str,
        environment: &Arc<Environment>,
        path: &FieldPath,
        wanted: &Type,
        [failed, mistyped]: [&str; 2],
    ) -> Option<Program> {
        let problem = match Program::compile(source, environment) {
            Ok(program) if program.may_give(wanted) => return Some(program),
            Ok(_) => mistyped.to_owned(),
            Err(error) => format!("{failed}: {error}"),
        };
        self.errors
            .push(FieldError::invalid(path.clone(), source, problem));
        None
    }
}

impl Place {
    fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.fields.is_empty()
            && self.values.is_none()
            && self.items.is_none()
    }
}

fn name_of(ty: schema::Type) -> &'static str {
    match ty {
        schema::Type::Any | schema::Type::IntOrString | schema::Type::Quantity => "",
        schema::Type::Object => "object",
        schema::Type::Array => "array",
        schema::Type::String => "string",
        schema::Type::Integer => "integer",
        schema::Type::Number => "number",
        schema::Type::Boolean => "boolean",
    }
}
