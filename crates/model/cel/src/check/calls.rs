//! Calls: the function that is meant, by the types of its arguments.

use std::sync::Arc;

use schema::pattern::Pattern;

use crate::ast::{Expr, Kind, Literal};
use crate::check::{Checker, dotted};
use crate::functions::{self, Function};
use crate::signature::{PARAMS, admits, filled};
use crate::ty::Type;

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &mut Expr) -> Type {
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
