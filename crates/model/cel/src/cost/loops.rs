//! Macros that go through something. Each costs what the loop does that Kubernetes makes of it.

use super::{Entry, Known, LOOK, NEW_LIST, NEW_MAP, Place, Size, TEXT, Walk, list_of};
use crate::ast::{Expr, Loop, LoopKind};
use crate::ty::Type;

/// What stands around the body of a loop.
struct Frame {
    /// What it begins with.
    start: u64,
    /// What is asked before each turn.
    ask: u64,
    /// What a turn does with what the body gave.
    turn: u64,
    /// What is said at the end.
    end: u64,
}

impl<'e> Walk<'e> {
    pub(super) fn repeat(&mut self, expr: &Expr, inner: &Loop) -> Known<'e> {
        match inner.kind {
            LoopKind::Bind => self.bind(inner),
            LoopKind::OptMap | LoopKind::OptFlatMap => self.unwrap(expr, inner),
            LoopKind::SortBy => self.sort(inner),
            _ => self.go_through(inner),
        }
    }

    /// The variables of a loop over a range.
    fn enter(&mut self, inner: &Loop, range: Known<'e>) -> usize {
        let before = self.locals.len();
        let is_list = match range.entry {
            Some(entry) => entry.is_list,
            None => matches!(inner.range.ty, Type::List(_)),
        };
        let element = |root, is_key: bool| Known {
            cost: 0,
            size: range
                .entry
                .map(|entry| if is_key { entry.key } else { entry.value }),
            entry: None,
            place: match (is_key, is_list) {
                // No schema says anything of the numbers of elements.
                (true, true) => range.place.below(root, |_| None),
                (true, false) => range.place.below(root, |extent| extent.keys.as_deref()),
                (false, _) => range.place.below(root, |extent| extent.elements.as_deref()),
            },
        };
        let root = self.root;
        if inner.second.is_some() {
            self.locals.push(element(root, true));
            self.locals.push(element(root, false));
        } else {
            self.locals.push(element(root, !is_list));
        }
        before
    }

    fn go_through(&mut self, inner: &Loop) -> Known<'e> {
        let range = self.expr(&inner.range);
        let before = self.enter(inner, range);
        let filter = inner.filter.as_ref().map(|filter| self.expr(filter).cost);
        let body = self.expr(&inner.body);
        let element = self.local(before, element_of(&inner.range.ty));
        self.locals.truncate(before);
        let cost = body.cost;
        // What is gathered starts empty, and a list of one element is put behind it.
        let gathered = |of: &Known<'e>| {
            let one = list_of(std::slice::from_ref(of));
            let entry = one.entry.map(|entry| Entry {
                value: entry.value.or(Size::exactly(0)),
                ..entry
            });
            (one.cost.saturating_add(LOOK + 1), entry)
        };
        let (frame, entry) = match inner.kind {
            LoopKind::All => (frame(0, LOOK + 1, LOOK.saturating_add(cost)), None),
            LoopKind::Exists => (frame(0, LOOK + 2, LOOK.saturating_add(cost)), None),
            LoopKind::ExistsOne => {
                let counted = frame(0, 0, cost.saturating_add(LOOK + 1));
                (
                    Frame {
                        end: LOOK + 1,
                        ..counted
                    },
                    None,
                )
            }
            LoopKind::Filter => {
                let (turn, entry) = gathered(&element);
                (frame(NEW_LIST, 0, turn.saturating_add(cost)), entry)
            }
            LoopKind::TransformMap => (frame(NEW_MAP, 0, cost.saturating_add(2 * LOOK + 1)), None),
            LoopKind::TransformMapEntry => (frame(NEW_MAP, 0, cost.saturating_add(LOOK + 1)), None),
            _ => {
                let (turn, entry) = gathered(&body);
                (frame(NEW_LIST, 0, turn), entry)
            }
        };
        let turns = range.size().max;
        let each = frame.ask.saturating_add(frame.turn);
        let each = each.saturating_add(filter.unwrap_or(0));
        let cost = range
            .cost
            .saturating_add(frame.start)
            .saturating_add(frame.end)
            .saturating_add(turns.saturating_mul(each));
        let is_gathered = frame.start > 0;
        Known {
            cost,
            size: Some(if is_gathered {
                range.size()
            } else {
                Size::exactly(1)
            }),
            entry,
            place: Place::Nowhere,
        }
    }

    fn bind(&mut self, inner: &Loop) -> Known<'e> {
        let value = self.expr(&inner.range);
        let before = self.locals.len();
        self.locals.push(value);
        let body = self.expr(&inner.body);
        self.locals.truncate(before);
        let cost = value.cost.saturating_add(body.cost);
        Known {
            // Upstream: a loop that is never gone through, over a list that is made nevertheless.
            cost: cost.saturating_add(NEW_LIST),
            place: Place::Nowhere,
            ..body
        }
    }

    fn unwrap(&mut self, expr: &Expr, inner: &Loop) -> Known<'e> {
        let value = self.expr(&inner.range);
        let before = self.locals.len();
        self.locals.push(self.computed(0, &Type::Dyn));
        let body = self.expr(&inner.body);
        self.locals.truncate(before);
        let asked = value.cost.saturating_add(1);
        let wrapped = u64::from(inner.kind == LoopKind::OptMap);
        let used = value
            .cost
            .saturating_add(body.cost)
            .saturating_add(NEW_LIST + 1 + wrapped);
        self.computed(asked.saturating_add(used.max(1)), &expr.ty)
    }

    fn sort(&mut self, inner: &Loop) -> Known<'e> {
        let range = self.expr(&inner.range);
        let before = self.enter(inner, range);
        let key = self.expr(&inner.body);
        self.locals.truncate(before);
        let size = range.size();
        let each = key.cost.saturating_add(NEW_LIST + LOOK + 1);
        let keys = size
            .max
            .saturating_mul(each)
            .saturating_add(NEW_LIST + 2 * LOOK);
        let texts = matches!(inner.body.ty, Type::String | Type::Bytes);
        let squared = size.times(size);
        let compared = squared.cost(if texts { 2.0 + TEXT } else { 2.0 });
        let cost = [range.cost, keys, compared, 2 * NEW_LIST + LOOK + 1]
            .iter()
            .fold(0, |sum: u64, part| sum.saturating_add(*part));
        Known {
            cost,
            size: Some(squared),
            entry: range.entry,
            place: Place::Nowhere,
        }
    }
}

/// What a loop with one variable goes through.
fn element_of(range: &Type) -> &Type {
    match range {
        Type::List(items) => items,
        Type::Map(keys, _) => keys,
        _ => &Type::Dyn,
    }
}

/// A loop that says at the end what it has gathered.
fn frame(start: u64, ask: u64, turn: u64) -> Frame {
    Frame {
        start,
        ask,
        turn,
        end: LOOK,
    }
}
