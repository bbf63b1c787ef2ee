//! CEL expressions as Kubernetes uses them: compiled against declared types, evaluated within a budget.
//!
//! Stands beside `schema`: rules in the schemas of users' kinds are compiled when a definition is written and run on
//! every write of its objects ([`rules`]); conditions of webhooks and the policies of admission run through
//! [`Program`] with the variables they know ([`Environment::admission`]).
//!
//! Entry points: [`Environment`] declares what an expression may speak of, [`Program::compile`] reads and checks it,
//! [`Inputs`] has the values, [`Program::holds`], [`Program::text`] and [`Program::run`] evaluate it.
//!
//! Invariants: no expression and no value panics or hangs: expressions are bounded in size and depth when they are
//! read, and every step of a run is paid for from a budget. A program is immutable and may run in many threads at once.
//! Values borrow from the objects they come from; an object is never copied to be looked at.
//!
//! Rules of a definition are also judged by what they may cost at most, before any of them runs.
//!
//! Non-goals: protocol buffers, user-defined functions.
//!
//! ```
//! use std::sync::Arc;
//! use karavel_cel::{CALL_LIMIT, Environment, Inputs, Program};
//!
//! let environment = Arc::new(Environment::admission());
//! let program = Program::compile("object.spec.replicas <= 5 && request.operation == 'CREATE'", &environment)?;
//! let (object, request) = (
//!     serde_json::json!({"spec": {"replicas": 3}}),
//!     serde_json::json!({"operation": "CREATE"}),
//! );
//! let inputs = Inputs::new().json("object", &object).json("request", &request);
//! assert_eq!(program.holds(&inputs, CALL_LIMIT), Ok(true));
//! # Ok::<(), karavel_cel::CompileError>(())
//! ```

mod environment;
mod program;
mod ty;
mod value;

pub mod rules;

mod authorizer;
mod problem;

mod ast;
mod check;
mod cost;
mod evaluate;
mod functions;
mod json;
mod lex;
mod macros;
mod parse;
mod signature;

pub use crate::authorizer::{Authorizer, Decision, Question};
pub use crate::environment::Environment;
pub use crate::evaluate::Fault;
pub use crate::problem::CompileError;
pub use crate::program::{CALL_LIMIT, Inputs, Outcome, Program};
pub use crate::ty::{Field, ObjectType, Opaque, Type};
pub use crate::value::Value;

#[cfg(test)]
mod tests;
