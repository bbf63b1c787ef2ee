//! Texts compiled once, run many times.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::ast::{Expr, Kind};
use crate::authorizer::{Authorizer, Check, Question};
use crate::check::check;
use crate::cost::{self, Extent};
use crate::environment::Environment;
use crate::evaluate::{Computed, Fault, Run, Slot};
use crate::json;
use crate::parse::parse;
use crate::problem::CompileError;
use crate::ty::{Opaque, Type};
use crate::value::Value;

/// What one run may cost, as Kubernetes has it: roughly a tenth of a second.
pub const CALL_LIMIT: u64 = 1_000_000;

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    environment: Arc<Environment>,
    body: Expr,
    result: Type,
    /// Which variables it speaks of.
    uses: Vec<bool>,
}

/// The values of variables. Those that are not given are absent: to speak of them is an error.
#[derive(Default)]
pub struct Inputs<'a> {
    given: Vec<(&'a str, Given<'a>)>,
    variables: Vec<(&'a str, &'a Program)>,
}

enum Given<'a> {
    Json(&'a object::Value),
    Optional(Option<&'a object::Value>),
    Value(Value<'a>),
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The value, or why there is none.
    pub value: Result<Value<'a>, Fault>,
    /// What it cost.
    pub cost: u64,
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Everything wrong with it.
    pub fn compile(source: &str, environment: &Arc<Environment>) -> Result<Self, CompileError> {
        let mut body = parse(source).map_err(|problem| CompileError::new(source, vec![problem]))?;
        let (result, problems) = check(&mut body, environment);
        if !problems.is_empty() {
            return Err(CompileError::new(source, problems));
        }
        let mut uses = vec![false; environment.names.len()];
        note_uses(&body, &mut uses);
        Ok(Self {
            environment: Arc::clone(environment),
            body,
            result,
            uses,
        })
    }

    /// What it gives, as far as that is known beforehand.
    #[must_use]
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// Whether it may give `ty`.
    #[must_use]
    pub fn may_give(&self, ty: &Type) -> bool {
        self.result.agrees_with(ty)
    }

    /// Whether it speaks of a variable.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.environment
            .place(name)
            .and_then(|place| self.uses.get(place).copied())
            .unwrap_or(false)
    }

    /// What a run costs at most, if all variables stand for values of this extent.
    pub(crate) fn most(&self, root: &Extent) -> u64 {
        cost::most(&self.body, root)
    }

    /// Runs it for at most `limit`, and hands what came of it to `then`: variables that are programs live no longer
    /// than that.
    pub fn run<'a, T>(
        &'a self,
        inputs: &'a Inputs<'a>,
        limit: u64,
        then: impl FnOnce(Outcome<'_>) -> T,
    ) -> T {
        let computed: Vec<Computed<'a>> = inputs
            .variables
            .iter()
            .map(|(name, program)| Computed {
                name: Arc::from(*name),
                body: &program.body,
                value: OnceCell::new(),
                running: Cell::new(false),
            })
            .collect();
        let slots: Vec<Slot<'_, '_>> = self
            .environment
            .names
            .iter()
            .zip(&self.environment.types)
            .map(|(name, ty)| match inputs.value(name, ty) {
                Some(value) => Slot::Given(value),
                None if &**name == "variables" => Slot::Computed(&computed),
                None => Slot::Absent,
            })
            .collect();
        let mut run = Run::new(&slots, &self.environment.names, limit);
        let value = run.eval(&self.body);
        let cost = run.meter.spent();
        then(Outcome { value, cost })
    }

    /// Whether what it says is so.
    ///
    /// # Errors
    /// When it gives no value, or none that is true or false.
    pub fn holds<'a>(&'a self, inputs: &'a Inputs<'a>, limit: u64) -> Result<bool, Fault> {
        self.run(inputs, limit, |outcome| {
            let value = outcome.value?;
            value
                .as_bool()
                .ok_or_else(|| Fault::new("the expression does not give a bool"))
        })
    }

    /// The text it gives.
    ///
    /// # Errors
    /// When it gives no value, or one that is no text.
    pub fn text<'a>(&'a self, inputs: &'a Inputs<'a>, limit: u64) -> Result<String, Fault> {
        self.run(inputs, limit, |outcome| {
            let value = outcome.value?;
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| Fault::new("the expression does not give a string"))
        })
    }
}

impl<'a> Inputs<'a> {
    /// No values yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a variable's value; a later one counts.
    #[must_use]
    pub fn json(mut self, name: &'a str, value: &'a object::Value) -> Self {
        self.given.push((name, Given::Json(value)));
        self
    }

    /// The same with a variable that is null when there is no value.
    #[must_use]
    pub fn json_or_null(mut self, name: &'a str, value: Option<&'a object::Value>) -> Self {
        let given = value.map_or(Given::Value(Value::Null), Given::Json);
        self.given.push((name, given));
        self
    }

    /// The same with a variable of an optional type.
    #[must_use]
    pub fn optional(mut self, name: &'a str, value: Option<&'a object::Value>) -> Self {
        self.given.push((name, Given::Optional(value)));
        self
    }

    /// The same with somebody to ask about permissions, as `authorizer`; questions about the request's own resource
    /// begin from `resource`, as `authorizer.requestResource`.
    #[must_use]
    pub fn authorizer(mut self, authorizer: &'a dyn Authorizer, resource: Question) -> Self {
        let check = Check::new(authorizer);
        let own = Check {
            stage: Opaque::ResourceCheck,
            question: resource,
            ..check.clone()
        };
        self.given
            .push(("authorizer", Given::Value(Value::Check(Arc::new(check)))));
        self.given.push((
            "authorizer.requestResource",
            Given::Value(Value::Check(Arc::new(own))),
        ));
        self
    }

    /// The same with a variable below `variables`, computed when it is first asked for. All programs of one run were
    /// compiled in environments that declare the same names in the same order, but for `variables` growing.
    #[must_use]
    pub fn variable(mut self, name: &'a str, program: &'a Program) -> Self {
        self.variables.push((name, program));
        self
    }

    fn value<'r>(&'r self, name: &str, ty: &'r Type) -> Option<Value<'r>>
    where
        'a: 'r,
    {
        let (_, given) = self.given.iter().rev().find(|(known, _)| *known == name)?;
        Some(match given {
            Given::Json(value) => json::read(value, ty),
            Given::Optional(value) => {
                let inner = match ty {
                    Type::Optional(inner) => inner,
                    other => other,
                };
                Value::Optional(value.map(|value| Arc::new(json::read(value, inner))))
            }
            Given::Value(value) => value.clone(),
        })
    }
}

fn note_uses(expr: &Expr, uses: &mut [bool]) {
    if let Kind::Variable(place) = expr.kind
        && let Some(used) = uses.get_mut(place)
    {
        *used = true;
    }
    for child in expr.children() {
        note_uses(child, uses);
    }
}
