//! Fields, elements and operators: what they give for the types they are used on.

use crate::ast::Operator;
use crate::check::{Checker, more_known};
use crate::ty::Type;

impl Checker<'_> {
    pub(super) fn select(
        &mut self,
        at: u32,
        operand: &Type,
        field: &str,
        test: bool,
        optional: bool,
    ) -> Type {
        let (operand, optional) = match operand {
            Type::Optional(inner) => (&**inner, true),
            other => (other, optional),
        };
        let found = match operand {
            Type::Object(object) => match object.fields.get(field) {
                Some(field) => field.ty.clone(),
                None => return self.refuse(at, format!("undefined field '{field}'")),
            },
            Type::Map(keys, values) if keys.agrees_with(&Type::String) => (**values).clone(),
            other if other.is_dyn() => Type::Dyn,
            other => {
                let text = format!("type '{other}' does not support field selection");
                return self.refuse(at, text);
            }
        };
        match (test, optional) {
            (true, _) => Type::Bool,
            (false, true) => Type::optional(found),
            (false, false) => found,
        }
    }

    pub(super) fn index(&mut self, at: u32, operand: Type, index: &Type, optional: bool) -> Type {
        let (looked_into, optional) = match &operand {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), optional),
        };
        let found = match &looked_into {
            Type::List(items) if index.is_dyn() || *index == Type::Int => (**items).clone(),
            Type::Map(keys, values) if keys.agrees_with(index) => (**values).clone(),
            other if other.is_dyn() => Type::Dyn,
            _ => return self.no_match(at, "_[_]", &[operand, index.clone()]),
        };
        if optional {
            Type::optional(found)
        } else {
            found
        }
    }

    pub(super) fn binary(&mut self, at: u32, operator: Operator, left: Type, right: Type) -> Type {
        let either_dyn = left.is_dyn() || right.is_dyn();
        let numeric =
            |ty: &Type| matches!(ty, Type::Int | Type::Uint | Type::Double) || ty.is_dyn();
        let found = match operator {
            Operator::Equal | Operator::NotEqual => left.agrees_with(&right).then_some(Type::Bool),
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => {
                let ordered = |ty: &Type| {
                    numeric(ty)
                        || matches!(
                            ty,
                            Type::Bool
                                | Type::String
                                | Type::Bytes
                                | Type::Timestamp
                                | Type::Duration
                        )
                };
                let fits = ordered(&left)
                    && ordered(&right)
                    && (left.agrees_with(&right) || (numeric(&left) && numeric(&right)));
                fits.then_some(Type::Bool)
            }
            Operator::In => match &right {
                Type::List(items) if items.agrees_with(&left) => Some(Type::Bool),
                Type::Map(keys, _) if keys.agrees_with(&left) => Some(Type::Bool),
                other if other.is_dyn() => Some(Type::Bool),
                _ => None,
            },
            Operator::Add => match (&left, &right) {
                (Type::Timestamp, Type::Duration) | (Type::Duration, Type::Timestamp) => {
                    Some(Type::Timestamp)
                }
                (Type::Timestamp, Type::Timestamp) => None,
                (Type::List(a), Type::List(b)) if a.agrees_with(b) => {
                    Some(Type::list(more_known((**a).clone(), (**b).clone())))
                }
                (a, b) if is_added(a) && is_added(b) && a.agrees_with(b) => {
                    Some(if either_dyn { Type::Dyn } else { left.clone() })
                }
                _ => None,
            },
            Operator::Subtract => match (&left, &right) {
                (Type::Timestamp, Type::Timestamp) => Some(Type::Duration),
                (Type::Timestamp, Type::Duration) => Some(Type::Timestamp),
                (Type::Duration, Type::Duration) => Some(Type::Duration),
                (a, b) if numeric(a) && numeric(b) && a.agrees_with(b) => {
                    Some(if either_dyn { Type::Dyn } else { left.clone() })
                }
                (a, b) if a.is_dyn() || b.is_dyn() => Some(Type::Dyn),
                _ => None,
            },
            Operator::Multiply | Operator::Divide | Operator::Remainder => {
                let fits = numeric(&left)
                    && numeric(&right)
                    && left.agrees_with(&right)
                    && (operator != Operator::Remainder
                        || (left != Type::Double && right != Type::Double));
                fits.then(|| if either_dyn { Type::Dyn } else { left.clone() })
            }
        };
        found.unwrap_or_else(|| self.no_match(at, operator.name(), &[left, right]))
    }
}

fn is_added(ty: &Type) -> bool {
    ty.is_dyn()
        || matches!(
            ty,
            Type::Int
                | Type::Uint
                | Type::Double
                | Type::String
                | Type::Bytes
                | Type::Duration
                | Type::List(_)
        )
}
