//! Expressions as trees. Macros are nodes of their own, so that a loop is a loop when the program runs.

use std::sync::Arc;

use crate::functions::Function;
use crate::ty::Type;

/// An expression and where it stands.
#[derive(Debug)]
pub(crate) struct Expr {
    /// How many characters stand before it.
    pub at: u32,
    /// How many levels it has.
    pub depth: u16,
    /// Whether it stands in brackets of its own.
    pub closed: bool,
    /// What it gives, once it is checked.
    pub ty: Type,
    pub kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    /// A name nobody has looked up yet.
    Name(Arc<str>),
    /// A declared variable, by its place.
    Variable(usize),
    /// A loop's variable, by its place on the stack.
    Local(usize),
    /// The name of a type.
    TypeName(Arc<str>),
    Select(Select),
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// A call nobody has looked up yet.
    Call {
        name: Arc<str>,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    /// A call of a known function; the target is the first argument. Where its type is not known beforehand there
    /// may be several, and the first that takes what came is meant.
    Apply {
        functions: Vec<&'static Function>,
        args: Vec<Expr>,
        /// The pattern among the arguments, if it is there to be compiled beforehand.
        pattern: Option<schema::pattern::Pattern>,
    },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        operator: Operator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Choose(Box<[Expr; 3]>),
    List(Vec<Item>),
    Map(Vec<Entry>),
    Loop(Box<Loop>),
}

#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

#[derive(Debug)]
pub(crate) struct Select {
    pub operand: Box<Expr>,
    pub field: Arc<str>,
    /// `a.?b`
    pub optional: bool,
    /// `has(a.b)`
    pub test: bool,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub value: Expr,
    pub optional: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub key: Expr,
    pub value: Expr,
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Remainder => "_%_",
            Self::Equal => "_==_",
            Self::NotEqual => "_!=_",
            Self::Less => "_<_",
            Self::LessOrEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterOrEqual => "_>=_",
            Self::In => "@in",
        }
    }
}

/// A macro that binds names to what it goes through.
#[derive(Debug)]
pub(crate) struct Loop {
    pub kind: LoopKind,
    pub range: Expr,
    pub first: Arc<str>,
    pub second: Option<Arc<str>>,
    /// What must hold for an element to count, where the macro has two expressions.
    pub filter: Option<Expr>,
    pub body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
    Bind,
    OptMap,
    OptFlatMap,
}

impl Expr {
    /// What stands directly below.
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Literal(_)
            | Kind::Name(_)
            | Kind::Variable(_)
            | Kind::Local(_)
            | Kind::TypeName(_) => Vec::new(),
            Kind::Select(select) => vec![&select.operand],
            Kind::Index { operand, index, .. } => vec![operand, index],
            Kind::Call { target, args, .. } => target.as_deref().into_iter().chain(args).collect(),
            Kind::Apply { args, .. } | Kind::All(args) | Kind::Any(args) => args.iter().collect(),
            Kind::Not(operand) | Kind::Negate(operand) => vec![operand],
            Kind::Binary { left, right, .. } => vec![left, right],
            Kind::Choose(parts) => parts.iter().collect(),
            Kind::List(items) => items.iter().map(|item| &item.value).collect(),
            Kind::Map(entries) => entries
                .iter()
                .flat_map(|entry| [&entry.key, &entry.value])
                .collect(),
            Kind::Loop(inner) => [&inner.range]
                .into_iter()
                .chain(&inner.filter)
                .chain([&inner.body])
                .collect(),
        }
    }
}
