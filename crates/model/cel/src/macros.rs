//! Calls that are no calls: `has`, the loops over lists and maps, `cel.bind`.

use std::sync::Arc;

use crate::ast::{Expr, Kind, Loop, LoopKind};
use crate::parse::node;
use crate::problem::Problem;

/// A call without a target.
pub(crate) fn global(at: u32, name: Arc<str>, args: Vec<Expr>) -> Result<Expr, Problem> {
    if &*name != "has" || args.len() != 1 {
        return node(
            at,
            Kind::Call {
                name,
                target: None,
                args,
            },
        );
    }
    match args.into_iter().next().map(|arg| arg.kind) {
        Some(Kind::Select(mut select)) if !select.optional => {
            select.test = true;
            node(at, Kind::Select(select))
        }
        _ => Err(Problem::new(at, "invalid argument to has() macro")),
    }
}

/// A call with a target.
pub(crate) fn member(
    at: u32,
    target: Expr,
    name: Arc<str>,
    args: Vec<Expr>,
) -> Result<Expr, Problem> {
    let is_cel = matches!(&target.kind, Kind::Name(name) if &**name == "cel");
    if is_cel && &*name == "bind" && args.len() == 3 {
        return bind(at, args);
    }
    let Some(kind) = kind_of(&name, args.len()) else {
        return node(
            at,
            Kind::Call {
                name,
                target: Some(Box::new(target)),
                args,
            },
        );
    };
    let (kind, names) = kind;
    let mut args = args.into_iter();
    let mut bound = Vec::new();
    for arg in args.by_ref().take(names) {
        bound.push(variable(arg)?);
    }
    let mut bodies: Vec<Expr> = args.collect();
    let Some(body) = bodies.pop() else {
        return Err(Problem::new(at, format!("{name} lacks an expression")));
    };
    let mut bound = bound.into_iter();
    let Some(first) = bound.next() else {
        return Err(Problem::new(at, format!("{name} lacks a variable")));
    };
    let second = bound.next();
    if second.as_ref() == Some(&first) {
        return Err(Problem::new(
            at,
            format!("duplicate variable name: {first}"),
        ));
    }
    let inner = Loop {
        kind,
        range: target,
        first,
        second,
        filter: bodies.pop(),
        body,
    };
    node(at, Kind::Loop(Box::new(inner)))
}

fn bind(at: u32, args: Vec<Expr>) -> Result<Expr, Problem> {
    let mut args = args.into_iter();
    let (Some(name), Some(range), Some(body)) = (args.next(), args.next(), args.next()) else {
        return Err(Problem::new(at, "cel.bind takes three arguments"));
    };
    let inner = Loop {
        kind: LoopKind::Bind,
        range,
        first: variable(name)?,
        second: None,
        filter: None,
        body,
    };
    node(at, Kind::Loop(Box::new(inner)))
}

fn variable(expr: Expr) -> Result<Arc<str>, Problem> {
    match expr.kind {
        Kind::Name(name) => Ok(name),
        _ => Err(Problem::new(expr.at, "argument must be a simple name")),
    }
}

/// The macro of that name and number of arguments, and how many of them are variables.
fn kind_of(name: &str, args: usize) -> Option<(LoopKind, usize)> {
    Some(match (name, args) {
        ("all", 2) => (LoopKind::All, 1),
        ("all", 3) => (LoopKind::All, 2),
        ("exists", 2) => (LoopKind::Exists, 1),
        ("exists", 3) => (LoopKind::Exists, 2),
        ("exists_one" | "existsOne", 2) => (LoopKind::ExistsOne, 1),
        ("exists_one" | "existsOne", 3) => (LoopKind::ExistsOne, 2),
        ("map", 2 | 3) => (LoopKind::Map, 1),
        ("filter", 2) => (LoopKind::Filter, 1),
        ("transformList", 3 | 4) => (LoopKind::Map, 2),
        ("transformMap", 3 | 4) => (LoopKind::TransformMap, 2),
        ("transformMapEntry", 3 | 4) => (LoopKind::TransformMapEntry, 2),
        ("sortBy", 2) => (LoopKind::SortBy, 1),
        ("optMap", 2) => (LoopKind::OptMap, 1),
        ("optFlatMap", 2) => (LoopKind::OptFlatMap, 1),
        _ => return None,
    })
}
