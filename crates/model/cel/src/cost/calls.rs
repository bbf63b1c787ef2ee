//! What calls of functions cost, by what is known of their arguments.

use super::size::scaled;
use super::{FORMAT_PATTERN, Known, NEW_LIST, PATTERN, Place, Size, TEXT, Walk};
use crate::ast::{Expr, Kind, Literal};
use crate::functions::Function;
use crate::ty::{Opaque, Type};

/// To ask whether somebody may do something: two of them make an expression's budget.
const ASK: u64 = 350_000;
/// To read a selector: a list, and for each requirement, which has two characters at least, a list and an object.
const REQUIREMENT_LENGTH: f64 = 0.5;
const REQUIREMENT: f64 = 50.0;
/// The bytes of an address.
const ADDRESS: Size = Size { min: 4, max: 16 };

/// What a call costs beside its arguments, and how large its result is where that follows from them.
struct Call {
    cost: u64,
    size: Option<Size>,
}

impl<'e> Walk<'e> {
    pub(super) fn apply(
        &mut self,
        expr: &Expr,
        functions: &[&'static Function],
        args: &[Expr],
    ) -> Known<'e> {
        let known: Vec<Known<'e>> = args.iter().map(|arg| self.expr(arg)).collect();
        let spent = super::total(known.iter());
        let name = functions.first().map_or("", |function| function.name);
        if let ("dyn", [inner]) = (name, known.as_slice()) {
            return Known {
                cost: inner.cost.saturating_add(1),
                place: Place::Nowhere,
                ..*inner
            };
        }
        let given = Given {
            root: self.root,
            exprs: args,
            known: &known,
        };
        let call = given.call(name);
        let result = self.computed(spent.saturating_add(call.cost), &expr.ty);
        Known {
            size: call.size.or(result.size),
            ..result
        }
    }
}

/// The arguments of a call; the target is the first.
struct Given<'g, 'e> {
    root: &'e super::Extent,
    exprs: &'g [Expr],
    known: &'g [Known<'e>],
}

impl Given<'_, '_> {
    fn call(&self, name: &str) -> Call {
        let first = self.size(0);
        let second = self.size(1);
        let costs = |cost: u64| Call { cost, size: None };
        let sized = |cost: u64, size: Size| Call {
            cost,
            size: Some(size),
        };
        match name {
            "check" => costs(ASK),
            "fieldSelector" | "labelSelector" => costs(selector(second)),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                costs(self.compare_elements(first))
            }
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                sized(first.cost(TEXT), first)
            }
            "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                costs(first.cost(TEXT))
            }
            "ip" if !matches!(self.ty(0), Type::Opaque(Opaque::Cidr)) => costs(first.cost(TEXT)),
            "ip.isCanonical" => costs(first.cost(2.0 * TEXT)),
            "containsIP" => costs(ADDRESS.plus(ADDRESS).cost(TEXT) + self.read_text(1)),
            "containsCIDR" => {
                costs(ADDRESS.plus(ADDRESS).cost(TEXT) + ADDRESS.cost(TEXT) + 1 + self.read_text(1))
            }
            "validate" => costs(scaled(second.cost(TEXT), FORMAT_PATTERN * PATTERN)),
            "replace" => sized(
                first.cost(2.0 * TEXT),
                replaced(first, second, self.size(2)),
            ),
            "split" => {
                let most = self.number(2).unwrap_or(first.max);
                sized(first.cost(2.0 * TEXT), Size::up_to(most))
            }
            "join" => {
                let size = self.joined(first);
                sized(size.cost(TEXT), size)
            }
            "find" | "findAll" => sized(searched(first, second), Size::up_to(first.max)),
            "matches" => costs(searched(first, second)),
            "contains" => costs(first.cost(TEXT).saturating_mul(second.cost(TEXT))),
            "startsWith" | "endsWith" => costs(second.cost(TEXT)),
            "format" => costs(first.cost(TEXT)),
            "bytes" if matches!(self.ty(0), Type::String) => {
                let most = first.max.saturating_mul(4);
                let size = Size { max: most, ..first };
                sized(first.cost(TEXT), size)
            }
            "string" if matches!(self.ty(0), Type::Bytes) => {
                let size = Size {
                    min: first.min / 4,
                    ..first
                };
                sized(first.cost(TEXT), size)
            }
            "strings.quote" => {
                let two = Size::exactly(2);
                let size = Size {
                    max: first.max.saturating_mul(2),
                    ..first
                };
                sized(first.cost(TEXT), size.plus(two))
            }
            "sets.contains" | "sets.intersects" => {
                costs(first.times(second).cost(1.0).saturating_add(1))
            }
            "sets.equivalent" => costs(first.times(second).cost(2.0).saturating_add(1)),
            "slice" => {
                let (start, end) = (self.number(1), self.number(2));
                let end = end.unwrap_or(first.max);
                listed(1.0, Size::exactly(end.saturating_sub(start.unwrap_or(0))))
            }
            "lists.range" => listed(1.0, Size::exactly(self.number(0).unwrap_or(u64::MAX))),
            "reverse" if matches!(self.ty(0), Type::List(_)) => listed(1.0, first),
            "flatten" => {
                let depth = match self.exprs.len() {
                    1 => 1,
                    _ => self.number(1).unwrap_or(u64::MAX),
                };
                let most = first.max.saturating_mul(depth);
                Call {
                    size: Some(first),
                    ..listed(1.0, Size::up_to(most))
                }
            }
            "distinct" => listed(2.0, first.times(first)),
            "sort" => {
                let texts = matches!(self.element(), Some(Type::String | Type::Bytes));
                listed(if texts { 2.0 + TEXT } else { 2.0 }, first.times(first))
            }
            _ => costs(1),
        }
    }

    fn size(&self, place: usize) -> Size {
        self.known.get(place).map_or(Size::UNKNOWN, Known::size)
    }

    fn ty(&self, place: usize) -> &Type {
        self.exprs.get(place).map_or(&Type::Dyn, |expr| &expr.ty)
    }

    /// A number that stands in the expression.
    fn number(&self, place: usize) -> Option<u64> {
        match &self.exprs.get(place)?.kind {
            Kind::Literal(Literal::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The type of the target's elements.
    fn element(&self) -> Option<&Type> {
        match self.ty(0) {
            Type::List(items) => Some(items),
            _ => None,
        }
    }

    /// How large an element of the target is, as far as the schema says.
    fn element_size(&self) -> Size {
        let place = self.known.first().map(|known| known.place);
        match place {
            Some(place @ (Place::At(_) | Place::Lost)) => place
                .below(self.root, |extent| extent.elements.as_deref())
                .size()
                .unwrap_or(Size::UNKNOWN),
            _ => Size::UNKNOWN,
        }
    }

    fn compare_elements(&self, size: Size) -> u64 {
        match self.element() {
            Some(Type::String | Type::Bytes) => {
                let each = self.element_size().cost(TEXT).saturating_add(1);
                size.max.saturating_mul(each)
            }
            Some(_) => size.max,
            None => size.cost(TEXT),
        }
    }

    fn joined(&self, size: Size) -> Size {
        let mut joined = match self.element() {
            Some(_) => size.times(self.element_size()),
            None => Size::exactly(0),
        };
        if self.exprs.len() > 1 {
            let gaps = Size {
                min: size.min.saturating_sub(1),
                max: size.max.saturating_sub(1),
            };
            joined = joined.plus(self.size(1).times(gaps));
        }
        joined
    }

    /// What it costs to read an address that comes as a text.
    fn read_text(&self, place: usize) -> u64 {
        match self.ty(place) {
            Type::Opaque(_) => 0,
            _ => self.size(place).cost(TEXT).min(u64::MAX / 2),
        }
    }
}

/// A search by a pattern. One is added, so that a search in nothing costs something too.
fn searched(text: Size, pattern: Size) -> u64 {
    let text = text.plus(Size::exactly(1)).cost(TEXT);
    text.saturating_mul(pattern.cost(PATTERN))
}

fn selector(text: Size) -> u64 {
    let requirements = scaled(text.cost(REQUIREMENT_LENGTH), REQUIREMENT);
    NEW_LIST
        .saturating_add(text.cost(TEXT))
        .saturating_add(requirements)
}

/// A list that is made by going through so many elements.
fn listed(each: f64, size: Size) -> Call {
    Call {
        cost: size.cost(each).saturating_add(NEW_LIST + 1),
        size: Some(size),
    }
}

/// How large a text is after a replacement: what is replaced may be as short as nothing, which is found everywhere.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    let count = |length: u64, each: u64| length.div_ceil(each);
    let (most, kept_most) = if from.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if to.max <= from.min {
        (0, text.max)
    } else {
        (count(text.max, from.min), 0)
    };
    let (least, kept_least) = if from.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if from.max <= to.min {
        (0, text.min)
    } else {
        (count(text.min, from.max), 0)
    };
    let counts = Size {
        min: least,
        max: most,
    };
    counts.times(to).plus(Size {
        min: kept_least,
        max: kept_most,
    })
}
