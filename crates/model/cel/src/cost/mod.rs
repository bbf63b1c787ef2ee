//! What an expression costs at most, before it ever runs.
//!
//! Walks a checked expression with what a schema says of the sizes of values. Upstream: the units and the formulas are
//! those Kubernetes judges the rules of a definition by, also where they are odd, so that a definition that is let in
//! there is let in here and the other way round. Only the upper bound is kept: nobody asks for the lower one.

mod calls;
mod loops;
mod size;

use crate::ast::{Expr, Kind, Literal, Operator};
use crate::ty::{Opaque, Type};

pub(crate) use size::{Extent, Size};

/// To name a variable, or to look into an object.
const LOOK: u64 = 1;
const NEW_LIST: u64 = 10;
const NEW_MAP: u64 = 30;
/// What going through a text costs a character, and a pattern a character.
const TEXT: f64 = 0.1;
const PATTERN: f64 = 0.25;
/// Names of formats are no longer than this, and their patterns take no more than that.
const FORMAT_NAME: u64 = 64;
const FORMAT_PATTERN: f64 = 128.0;

/// What an expression costs at most whose variables all stand for values of `root`.
pub(crate) fn most(body: &Expr, root: &Extent) -> u64 {
    let mut walk = Walk {
        root,
        locals: Vec::new(),
    };
    walk.expr(body).cost
}

/// What is known of an expression.
#[derive(Clone, Copy, Debug)]
struct Known<'e> {
    /// What it costs at most to evaluate it.
    cost: u64,
    /// How large its value is.
    size: Option<Size>,
    /// How large what it holds is, if it was put together in the expression.
    entry: Option<Entry>,
    place: Place<'e>,
}

/// Of the elements of a list, or of the keys and values of a map.
#[derive(Clone, Copy, Debug)]
struct Entry {
    is_list: bool,
    key: Size,
    value: Size,
}

/// Where in the schema a value comes from.
#[derive(Clone, Copy, Debug)]
enum Place<'e> {
    /// It was computed.
    Nowhere,
    At(&'e Extent),
    /// Somewhere the schema says nothing of.
    Lost,
}

struct Walk<'e> {
    root: &'e Extent,
    locals: Vec<Known<'e>>,
}

impl Known<'_> {
    fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}

impl Entry {
    fn or(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.or(other.key),
            value: self.value.or(other.value),
        }
    }
}

impl<'e> Place<'e> {
    fn size(self) -> Option<Size> {
        match self {
            Self::At(extent) => Some(Size::up_to(extent.most)),
            _ => None,
        }
    }

    /// Something below. Upstream: whatever stands below a computed value is taken for the root.
    fn below(
        self,
        root: &'e Extent,
        step: impl FnOnce(&'e Extent) -> Option<&'e Extent>,
    ) -> Place<'e> {
        match self {
            Self::Nowhere => Self::At(root),
            Self::At(extent) => step(extent).map_or(Self::Lost, Self::At),
            Self::Lost => Self::Lost,
        }
    }
}

impl<'e> Walk<'e> {
    fn expr(&mut self, expr: &Expr) -> Known<'e> {
        match &expr.kind {
            Kind::Literal(literal) => Known {
                cost: 0,
                size: Some(size_of(literal)),
                entry: None,
                place: Place::Nowhere,
            },
            // Upstream: every name at the root stands for the root, those of types too.
            Kind::Variable(_) | Kind::Name(_) | Kind::TypeName(_) => {
                self.at(LOOK, Place::At(self.root), &expr.ty)
            }
            Kind::Local(place) => self.local(*place, &expr.ty),
            Kind::Select(select) => {
                let operand = self.expr(&select.operand);
                if select.test {
                    return self.computed(operand.cost, &expr.ty);
                }
                if select.optional {
                    return self.computed(operand.cost.saturating_add(1), &expr.ty);
                }
                let looks = matches!(select.operand.ty, Type::Map(..) | Type::Object(_));
                let cost = operand.cost.saturating_add(if looks { LOOK } else { 0 });
                let field = &*select.field;
                let place = operand
                    .place
                    .below(self.root, |extent| extent.fields.get(field));
                self.at(cost, place, &expr.ty)
            }
            Kind::Index {
                operand,
                index,
                optional,
            } => self.index(expr, operand, index, *optional),
            Kind::Call { .. } => self.computed(LOOK, &expr.ty),
            Kind::Apply {
                functions, args, ..
            } => self.apply(expr, functions, args),
            Kind::Not(operand) | Kind::Negate(operand) => {
                let cost = self.expr(operand).cost;
                self.computed(cost.saturating_add(1), &expr.ty)
            }
            Kind::Binary {
                operator,
                left,
                right,
            } => self.binary(expr, *operator, left, right),
            Kind::All(parts) | Kind::Any(parts) => {
                let cost = self.sum(parts.iter());
                self.computed(cost, &expr.ty)
            }
            Kind::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                let cost = self.expr(condition).cost;
                let (then, otherwise) = (self.expr(then), self.expr(otherwise));
                self.choose(cost, then, otherwise)
            }
            Kind::List(items) => {
                let known: Vec<Known<'e>> =
                    items.iter().map(|item| self.expr(&item.value)).collect();
                list_of(&known)
            }
            Kind::Map(entries) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in entries {
                    keys.push(self.expr(&entry.key));
                    values.push(self.expr(&entry.value));
                }
                let cost = total(keys.iter().chain(&values));
                Known {
                    cost: cost.saturating_add(NEW_MAP),
                    size: Some(Size::exactly(keys.len() as u64)),
                    entry: Some(Entry {
                        is_list: false,
                        key: any_of(&keys),
                        value: any_of(&values),
                    }),
                    place: Place::Nowhere,
                }
            }
            Kind::Loop(inner) => self.repeat(expr, inner),
        }
    }

    /// A value at a place: the schema knows its size, or its type does.
    fn at(&self, cost: u64, place: Place<'e>, ty: &Type) -> Known<'e> {
        Known {
            cost,
            size: place.size().or_else(|| size_of_type(ty)),
            entry: None,
            place,
        }
    }

    fn computed(&self, cost: u64, ty: &Type) -> Known<'e> {
        self.at(cost, Place::Nowhere, ty)
    }

    fn local(&self, place: usize, ty: &Type) -> Known<'e> {
        let Some(bound) = self.locals.get(place) else {
            return self.computed(LOOK, ty);
        };
        let known = self.at(LOOK, bound.place, ty);
        Known {
            size: known.size.or(bound.size),
            entry: bound.entry,
            ..known
        }
    }

    fn sum<'x>(&mut self, parts: impl Iterator<Item = &'x Expr>) -> u64 {
        parts.fold(0, |cost: u64, part| {
            cost.saturating_add(self.expr(part).cost)
        })
    }

    fn index(&mut self, expr: &Expr, operand: &Expr, index: &Expr, optional: bool) -> Known<'e> {
        let looked_into = self.expr(operand);
        let cost = looked_into.cost.saturating_add(self.expr(index).cost);
        let cost = cost.saturating_add(1);
        if optional || matches!(operand.ty, Type::Optional(_)) {
            return self.computed(cost, &expr.ty);
        }
        let place = looked_into
            .place
            .below(self.root, |extent| extent.elements.as_deref());
        let known = self.at(cost, place, &expr.ty);
        Known {
            size: looked_into.entry.map(|entry| entry.value).or(known.size),
            ..known
        }
    }

    fn choose(&self, cost: u64, then: Known<'e>, otherwise: Known<'e>) -> Known<'e> {
        let entry = match (then.entry, otherwise.entry) {
            (Some(then), Some(otherwise)) => Some(then.or(otherwise)),
            _ => None,
        };
        Known {
            cost: cost.saturating_add(then.cost.max(otherwise.cost)),
            size: Some(then.size().or(otherwise.size())),
            entry,
            place: Place::Nowhere,
        }
    }

    fn binary(&mut self, expr: &Expr, operator: Operator, left: &Expr, right: &Expr) -> Known<'e> {
        let (a, b) = (self.expr(left), self.expr(right));
        let both = a.cost.saturating_add(b.cost);
        let is_text = |ty: &Type| matches!(ty, Type::String | Type::Bytes) || ty.is_dyn();
        let may_be_text = is_text(&left.ty) && is_text(&right.ty);
        let smaller = || Size::up_to(a.size().max.min(b.size().max)).cost(TEXT);
        let cost = match operator {
            Operator::Add => return self.add(expr, (left, a), (right, b)),
            Operator::Equal => match same(&left.ty, &right.ty) {
                Some(cost) => cost,
                None if matches!(left.ty, Type::Opaque(Opaque::Url)) => {
                    b.size.unwrap_or(Size::exactly(1)).cost(TEXT)
                }
                None => smaller(),
            },
            Operator::NotEqual => smaller(),
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
                if may_be_text =>
            {
                let may_be_other = left.ty.is_dyn() && right.ty.is_dyn();
                smaller().max(u64::from(may_be_other))
            }
            Operator::In => match &right.ty {
                Type::Map(..) => 1,
                Type::List(_) => b.size().cost(1.0),
                _ => b.size().cost(1.0).max(1),
            },
            _ => 1,
        };
        self.computed(both.saturating_add(cost), &expr.ty)
    }

    fn add(
        &self,
        expr: &Expr,
        (left, a): (&Expr, Known<'e>),
        (right, b): (&Expr, Known<'e>),
    ) -> Known<'e> {
        let both = a.cost.saturating_add(b.cost);
        let is = |wanted: fn(&Type) -> bool| {
            let fits = |ty: &Type| wanted(ty) || ty.is_dyn();
            fits(&left.ty) && fits(&right.ty)
        };
        let is_list = is(|ty| matches!(ty, Type::List(_)));
        let is_text = is(|ty| matches!(ty, Type::String | Type::Bytes));
        if !is_list && !is_text {
            return self.computed(both.saturating_add(1), &expr.ty);
        }
        let size = a.size().plus(b.size());
        let entry = match (a.entry, b.entry) {
            (Some(a), Some(b)) => Some(a.or(b)),
            _ => None,
        };
        let cost = if is_text { size.cost(TEXT) } else { 0 };
        let cost = if is_list { cost.max(1) } else { cost };
        Known {
            cost: both.saturating_add(cost),
            size: Some(size),
            entry,
            place: Place::Nowhere,
        }
    }
}

/// A list of these.
fn list_of<'e>(items: &[Known<'e>]) -> Known<'e> {
    Known {
        cost: total(items.iter()).saturating_add(NEW_LIST),
        size: Some(Size::exactly(items.len() as u64)),
        entry: Some(Entry {
            is_list: true,
            key: Size::exactly(1),
            value: any_of(items),
        }),
        place: Place::Nowhere,
    }
}

fn total<'k, 'e: 'k>(known: impl Iterator<Item = &'k Known<'e>>) -> u64 {
    known.fold(0, |sum: u64, known| sum.saturating_add(known.cost))
}

/// A size that is one of these.
fn any_of(known: &[Known<'_>]) -> Size {
    let sizes = known.iter().map(Known::size);
    sizes.reduce(Size::or).unwrap_or(Size::exactly(0))
}

/// What it costs to compare values that only functions look into, where that does not depend on their size.
fn same(left: &Type, right: &Type) -> Option<u64> {
    match (left, right) {
        (Type::Opaque(a), Type::Opaque(b)) if a == b => match a {
            Opaque::Url => None,
            Opaque::Format => Some(Size::up_to(FORMAT_NAME).cost(TEXT)),
            _ => Some(1),
        },
        _ => None,
    }
}

fn size_of(literal: &Literal) -> Size {
    Size::exactly(match literal {
        Literal::String(text) => text.chars().count() as u64,
        Literal::Bytes(bytes) => bytes.len() as u64,
        _ => 1,
    })
}

/// The size of values of a type that are all of the same size.
fn size_of_type(ty: &Type) -> Option<Size> {
    match ty {
        Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Duration | Type::Timestamp => {
            Some(Size::exactly(1))
        }
        Type::Optional(inner) => size_of_type(inner),
        _ => None,
    }
}
