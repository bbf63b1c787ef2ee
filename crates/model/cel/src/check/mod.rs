//! Names looked up and types held against each other, before a program ever runs.

mod calls;
mod operators;

use std::sync::Arc;

use crate::ast::{Expr, Kind, Literal, Loop, LoopKind};
use crate::environment::Environment;
use crate::problem::Problem;
use crate::ty::Type;

/// Looks everything up in place; the type of the whole, and everything wrong.
pub(crate) fn check(expr: &mut Expr, environment: &Environment) -> (Type, Vec<Problem>) {
    let mut checker = Checker {
        environment,
        locals: Vec::new(),
        problems: Vec::new(),
        mixed: false,
    };
    let ty = checker.expr(expr);
    (ty, checker.problems)
}

struct Checker<'e> {
    environment: &'e Environment,
    locals: Vec<(Arc<str>, Type)>,
    problems: Vec<Problem>,
    /// Whether the list that comes next may hold values of several types: arguments of `format` do.
    mixed: bool,
}

const TYPE_NAMES: [(&str, &str); 13] = [
    ("bool", "bool"),
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("list", "list"),
    ("map", "map"),
    ("null_type", "null_type"),
    ("type", "type"),
    ("optional_type", "optional_type"),
    ("google.protobuf.Timestamp", "google.protobuf.Timestamp"),
    ("google.protobuf.Duration", "google.protobuf.Duration"),
];

/// The dotted name an expression spells, if it is nothing but names.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Name(name) => Some(name.to_string()),
        Kind::Select(select) if !select.test && !select.optional => {
            Some(format!("{}.{}", dotted(&select.operand)?, select.field))
        }
        _ => None,
    }
}

impl Checker<'_> {
    fn refuse(&mut self, at: u32, text: impl Into<String>) -> Type {
        self.problems.push(Problem::new(at, text));
        Type::Dyn
    }

    fn no_match(&mut self, at: u32, name: &str, types: &[Type]) -> Type {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        self.refuse(
            at,
            format!(
                "found no matching overload for '{name}' applied to '({})'",
                types.join(", ")
            ),
        )
    }

    fn expect(&mut self, expr: &mut Expr, wanted: &Type) {
        let found = self.expr(expr);
        if !found.agrees_with(wanted) {
            self.refuse(
                expr.at,
                format!("expected type '{wanted}' but found '{found}'"),
            );
        }
    }

    /// The variable or type of a name.
    fn named(&self, name: &str) -> Option<(Kind, Type)> {
        if let Some(place) = self.locals.iter().rposition(|(known, _)| &**known == name) {
            let ty = self.locals.get(place).map(|(_, ty)| ty.clone())?;
            return Some((Kind::Local(place), ty));
        }
        if let Some(place) = self.environment.place(name) {
            let ty = self.environment.types.get(place).cloned()?;
            return Some((Kind::Variable(place), ty));
        }
        let (_, shown) = TYPE_NAMES.iter().find(|(known, _)| *known == name)?;
        Some((Kind::TypeName((*shown).into()), Type::Type))
    }

    fn expr(&mut self, expr: &mut Expr) -> Type {
        let ty = self.judge(expr);
        expr.ty = ty.clone();
        ty
    }

    fn judge(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        // A declared name may have dots.
        if let Some(name) = dotted(expr)
            && let Some((kind, ty)) = self.named(&name)
        {
            expr.kind = kind;
            return ty;
        }
        match &mut expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Name(name) => {
                let text = format!("undeclared reference to '{name}' (in container '')");
                self.refuse(at, text)
            }
            // Looked up already, which happens to nothing twice.
            Kind::Variable(_) | Kind::Local(_) | Kind::TypeName(_) | Kind::Apply { .. } => {
                Type::Dyn
            }
            Kind::Select(select) => {
                let operand = self.expr(&mut select.operand);
                let (test, optional) = (select.test, select.optional);
                let field = Arc::clone(&select.field);
                self.select(at, &operand, &field, test, optional)
            }
            Kind::Index {
                operand,
                index,
                optional,
            } => {
                let operand = self.expr(operand);
                let index = self.expr(index);
                self.index(at, operand, &index, *optional)
            }
            Kind::Call { .. } => self.call(expr),
            Kind::Not(operand) => {
                let found = self.expr(operand);
                if !found.agrees_with(&Type::Bool) {
                    return self.no_match(at, "!_", &[found]);
                }
                Type::Bool
            }
            Kind::Negate(operand) => {
                let found = self.expr(operand);
                match found {
                    Type::Int | Type::Double => found,
                    other if other.is_dyn() => Type::Dyn,
                    other => self.no_match(at, "-_", &[other]),
                }
            }
            Kind::Binary {
                operator,
                left,
                right,
            } => {
                let operator = *operator;
                let left = self.expr(left);
                let right = self.expr(right);
                self.binary(at, operator, left, right)
            }
            Kind::All(parts) | Kind::Any(parts) => {
                for part in parts {
                    self.expect(part, &Type::Bool);
                }
                Type::Bool
            }
            Kind::Choose(parts) => {
                let [condition, then, otherwise] = &mut **parts;
                let condition = self.expr(condition);
                let (then, otherwise) = (self.expr(then), self.expr(otherwise));
                if !condition.agrees_with(&Type::Bool) || !then.agrees_with(&otherwise) {
                    return self.no_match(at, "_?_:_", &[condition, then, otherwise]);
                }
                more_known(then, otherwise)
            }
            Kind::List(items) => {
                let mixed = std::mem::take(&mut self.mixed);
                let mut common: Option<Type> = mixed.then_some(Type::Dyn);
                for item in items {
                    let found = self.expr(&mut item.value);
                    let found = if item.optional {
                        self.unwrapped(item.value.at, found)
                    } else {
                        found
                    };
                    if !mixed {
                        common = Some(self.common(item.value.at, common, found));
                    }
                }
                Type::list(common.unwrap_or(Type::Dyn))
            }
            Kind::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    let key = self.expr(&mut entry.key);
                    let value = self.expr(&mut entry.value);
                    let value = if entry.optional {
                        self.unwrapped(entry.value.at, value)
                    } else {
                        value
                    };
                    keys = Some(self.common(entry.key.at, keys, key));
                    values = Some(self.common(entry.value.at, values, value));
                }
                Type::Map(
                    Arc::new(keys.unwrap_or(Type::Dyn)),
                    Arc::new(values.unwrap_or(Type::Dyn)),
                )
            }
            Kind::Loop(inner) => self.repeat(at, inner),
        }
    }

    fn unwrapped(&mut self, at: u32, ty: Type) -> Type {
        match ty {
            Type::Optional(inner) => (*inner).clone(),
            other if other.is_dyn() => Type::Dyn,
            other => self.refuse(
                at,
                format!("expected type 'optional_type(A)' but found '{other}'"),
            ),
        }
    }

    /// Elements of one list have one type, as Kubernetes wants it.
    fn common(&mut self, at: u32, known: Option<Type>, found: Type) -> Type {
        match known {
            None => found,
            Some(known) if known.agrees_with(&found) => more_known(known, found),
            Some(known) => {
                self.refuse(at, format!("expected type '{known}' but found '{found}'"));
                known
            }
        }
    }

    fn repeat(&mut self, at: u32, inner: &mut Loop) -> Type {
        let range = self.expr(&mut inner.range);
        let two = inner.second.is_some();
        let (first, second) = match inner.kind {
            LoopKind::Bind => (range.clone(), None),
            LoopKind::OptMap | LoopKind::OptFlatMap => {
                (self.unwrapped(inner.range.at, range.clone()), None)
            }
            _ => match &range {
                Type::List(items) if two => (Type::Int, Some((**items).clone())),
                Type::List(items) => ((**items).clone(), None),
                Type::Map(keys, values) if two => ((**keys).clone(), Some((**values).clone())),
                Type::Map(keys, _) => ((**keys).clone(), None),
                other if other.is_dyn() => (Type::Dyn, two.then_some(Type::Dyn)),
                other => {
                    let text = format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    );
                    self.refuse(inner.range.at, text);
                    (Type::Dyn, two.then_some(Type::Dyn))
                }
            },
        };
        let before = self.locals.len();
        self.locals.push((Arc::clone(&inner.first), first.clone()));
        if let (Some(name), Some(ty)) = (&inner.second, second) {
            self.locals.push((Arc::clone(name), ty));
        }
        if let Some(filter) = &mut inner.filter {
            self.expect(filter, &Type::Bool);
        }
        let body = self.expr(&mut inner.body);
        let wants_bool = matches!(
            inner.kind,
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Filter
        );
        if wants_bool && !body.agrees_with(&Type::Bool) {
            let text = format!("expected type 'bool' but found '{body}'");
            self.refuse(inner.body.at, text);
        }
        self.locals.truncate(before);
        match inner.kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Type::Bool,
            LoopKind::Map => Type::list(body),
            LoopKind::Filter | LoopKind::SortBy => Type::list(first),
            LoopKind::TransformMap => Type::Map(Arc::new(first), Arc::new(body)),
            LoopKind::TransformMapEntry => match body {
                map @ Type::Map(..) => map,
                other if other.is_dyn() => Type::Dyn,
                other => self.refuse(at, format!("expected type 'map' but found '{other}'")),
            },
            LoopKind::Bind | LoopKind::OptFlatMap => body,
            LoopKind::OptMap => Type::optional(body),
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// Of two types that agree, the one that says more.
fn more_known(a: Type, b: Type) -> Type {
    match a {
        Type::Dyn | Type::Param(_) | Type::Null => b,
        _ => a,
    }
}
