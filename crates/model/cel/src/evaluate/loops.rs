//! Comprehensions: what goes through lists and maps, turn by turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Expr, Loop, LoopKind};
use crate::evaluate::{Fault, Run, insert};
use crate::functions::{Outcome, arithmetic};
use crate::value::{Map, Value};

impl<'a> Run<'a, '_> {
    pub(super) fn repeat(&mut self, inner: &'a Loop) -> Outcome<'a> {
        let range = self.eval(&inner.range)?;
        match inner.kind {
            LoopKind::Bind => self.with(range, None, &inner.body),
            LoopKind::OptMap | LoopKind::OptFlatMap => match range {
                Value::Optional(None) => Ok(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    let value = self.with((*value).clone(), None, &inner.body)?;
                    Ok(match inner.kind {
                        LoopKind::OptMap => value.some(),
                        _ => value,
                    })
                }
                _ => Err(Fault::no_overload()),
            },
            LoopKind::All => self.quantify(inner, &range, false),
            LoopKind::Exists => self.quantify(inner, &range, true),
            LoopKind::ExistsOne => self.count_one(inner, &range),
            LoopKind::TransformMap | LoopKind::TransformMapEntry => {
                self.transform_map(inner, &range)
            }
            LoopKind::Map | LoopKind::Filter | LoopKind::SortBy => {
                self.transform_list(inner, &range)
            }
        }
    }

    /// What a loop goes through: for one variable elements or keys, for two places or keys, and values.
    fn turns(
        &mut self,
        range: &Value<'a>,
        two: bool,
    ) -> Result<Vec<(Value<'a>, Option<Value<'a>>)>, Fault> {
        match range {
            Value::List(list) => {
                self.meter.pay_for_items(list.len())?;
                Ok(list
                    .iter()
                    .enumerate()
                    .map(|(place, item)| match two {
                        true => (Value::size(place), Some(item)),
                        false => (item, None),
                    })
                    .collect())
            }
            Value::Map(map) => {
                self.meter.pay_for_items(map.len())?;
                Ok(map
                    .iter()
                    .map(|(key, value)| (key.into_value(), two.then_some(value)))
                    .collect())
            }
            _ => Err(Fault::no_overload()),
        }
    }

    fn quantify(&mut self, inner: &'a Loop, range: &Value<'a>, decisive: bool) -> Outcome<'a> {
        let mut fault = None;
        for (first, second) in self.turns(range, inner.second.is_some())? {
            self.meter.pay(1)?;
            match self.with(first, second, &inner.body) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => fault = fault.or_else(|| Some(Fault::no_overload())),
                Err(found) if found.exhausted => return Err(found),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(Value::Bool(!decisive)),
        }
    }

    fn holds(
        &mut self,
        first: &Value<'a>,
        second: &Option<Value<'a>>,
        expr: &'a Expr,
    ) -> Result<bool, Fault> {
        match self.with(first.clone(), second.clone(), expr)? {
            Value::Bool(value) => Ok(value),
            _ => Err(Fault::no_overload()),
        }
    }

    fn count_one(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut found = 0_u32;
        for (first, second) in self.turns(range, inner.second.is_some())? {
            self.meter.pay(1)?;
            found += u32::from(self.holds(&first, &second, &inner.body)?);
        }
        Ok(Value::Bool(found == 1))
    }

    fn transform_list(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut made = Vec::new();
        let mut keys = Vec::new();
        for (first, second) in self.turns(range, inner.second.is_some())? {
            self.meter.pay(2)?;
            if let Some(filter) = &inner.filter
                && !self.holds(&first, &second, filter)?
            {
                continue;
            }
            match inner.kind {
                LoopKind::Filter => {
                    if self.holds(&first, &second, &inner.body)? {
                        made.push(first);
                    }
                }
                LoopKind::SortBy => {
                    keys.push(self.with(first.clone(), second, &inner.body)?);
                    made.push(first);
                }
                _ => made.push(self.with(first, second, &inner.body)?),
            }
        }
        if inner.kind == LoopKind::SortBy {
            let pairs = keys.into_iter().zip(made).collect();
            return arithmetic::sorted(&mut self.meter, pairs);
        }
        Ok(made.into())
    }

    fn transform_map(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut made = BTreeMap::new();
        for (first, second) in self.turns(range, true)? {
            self.meter.pay(2)?;
            if let Some(filter) = &inner.filter
                && !self.holds(&first, &second, filter)?
            {
                continue;
            }
            let value = self.with(first.clone(), second, &inner.body)?;
            if inner.kind == LoopKind::TransformMap {
                insert(&mut made, &first, value)?;
                continue;
            }
            let Value::Map(entries) = value else {
                return Err(Fault::no_overload());
            };
            for (key, value) in entries.iter() {
                insert(&mut made, &key.into_value(), value)?;
            }
        }
        Ok(Value::Map(Map::Made(Arc::new(made))))
    }
}
