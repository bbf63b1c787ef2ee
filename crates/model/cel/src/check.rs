//! Names looked up and types held against each other, before a program ever runs.

use std::sync::Arc;

use schema::pattern::Pattern;

use crate::ast::{Expr, Kind, Literal, Loop, LoopKind, Operator};
use crate::environment::Environment;
use crate::functions::{self, Function};
use crate::problem::Problem;
use crate::signature::{PARAMS, admits, filled};
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

    fn select(&mut self, at: u32, operand: &Type, field: &str, test: bool, optional: bool) -> Type {
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

    fn index(&mut self, at: u32, operand: Type, index: &Type, optional: bool) -> Type {
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

    fn binary(&mut self, at: u32, operator: Operator, left: Type, right: Type) -> Type {
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

    fn call(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        let Kind::Call { name, target, args } = &mut expr.kind else {
            return Type::Dyn;
        };
        let (name, target) = (Arc::clone(name), target.take());
        let mut args = std::mem::take(args);
        // `sets.contains(a, b)`: a function whose name has a dot, unless the word before it is a variable.
        let qualified = target
            .as_deref()
            .and_then(dotted)
            .filter(|prefix| self.named(prefix).is_none())
            .map(|prefix| format!("{prefix}.{name}"));
        let (known, member, shown) = match &qualified {
            Some(name) if !functions::called(name).is_empty() => {
                (functions::called(name), false, name.as_str())
            }
            _ => {
                let member = target.is_some();
                if let Some(target) = target {
                    args.insert(0, *target);
                }
                (functions::called(&name), member, &*name)
            }
        };
        let mut types = Vec::with_capacity(args.len());
        for (place, arg) in args.iter_mut().enumerate() {
            self.mixed =
                member && shown == "format" && place == 1 && matches!(arg.kind, Kind::List(_));
            types.push(self.expr(arg));
        }
        if known.is_empty() {
            let text = format!("undeclared reference to '{shown}' (in container '')");
            return self.refuse(at, text);
        }
        let Some((functions, ty)) = resolve(known, member, &types) else {
            let text = match (member, types.split_first()) {
                (true, Some((target, rest))) => {
                    let rest: Vec<String> = rest.iter().map(ToString::to_string).collect();
                    format!(
                        "found no matching overload for '{shown}' applied to '{target}.({})'",
                        rest.join(", ")
                    )
                }
                _ => return self.no_match(at, shown, &types),
            };
            return self.refuse(at, text);
        };
        let pattern = match functions.first() {
            Some(function) => self.pattern(function, &args),
            None => None,
        };
        expr.kind = Kind::Apply {
            functions,
            args,
            pattern,
        };
        ty
    }

    /// A pattern that stands in the expression is compiled once, and refused at once.
    fn pattern(&mut self, function: &Function, args: &[Expr]) -> Option<Pattern> {
        let literal = match args {
            [_, pattern] | [_, pattern, _]
                if matches!(function.name, "matches" | "find" | "findAll") =>
            {
                pattern
            }
            _ => return None,
        };
        let Kind::Literal(Literal::String(text)) = &literal.kind else {
            return None;
        };
        match Pattern::new(text) {
            Ok(pattern) => (function.name == "matches").then_some(pattern),
            Err(error) => {
                self.refuse(
                    literal.at,
                    format!("invalid {} argument: {error}", function.name),
                );
                None
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

/// The functions that take these arguments, and what they give.
fn resolve(
    known: &'static [Function],
    member: bool,
    types: &[Type],
) -> Option<(Vec<&'static Function>, Type)> {
    let mut functions: Vec<&'static Function> = Vec::new();
    let mut common: Option<Type> = None;
    for function in known {
        for form in &function.forms {
            if form.member != member || form.parameters.len() != types.len() {
                continue;
            }
            let mut bound = [const { None }; PARAMS];
            let fits = form
                .parameters
                .iter()
                .zip(types)
                .all(|(formal, actual)| admits(formal, actual, &mut bound));
            if !fits {
                continue;
            }
            let result = filled(&form.result, &bound);
            common = Some(match common {
                None => result,
                Some(known) if known == result => known,
                Some(_) => Type::Dyn,
            });
            if !functions.iter().any(|taken| std::ptr::eq(*taken, function)) {
                functions.push(function);
            }
        }
    }
    Some((functions, common?))
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
