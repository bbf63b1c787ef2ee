//! Words put together to expressions.
//!
//! Invariant: no expression is deeper than [`MAX_DEPTH`], so that every walk over one fits on the stack.

use std::sync::Arc;

use crate::ast::{Entry, Expr, Item, Kind, Literal, Operator, Select};
use crate::lex::{Token, Word, tokens};
use crate::macros;
use crate::problem::Problem;
use crate::ty::Type;

/// How many levels an expression may have. Chains of `&&` and `||` are one level.
///
/// Upstream allows 250 in a language whose stacks grow; nobody writes a hundred.
pub(crate) const MAX_DEPTH: u16 = 100;

/// How many characters an expression may have.
pub(crate) const MAX_LENGTH: usize = 100_000;

const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];

/// Reads an expression.
pub(crate) fn parse(source: &str) -> Result<Expr, Problem> {
    let length = source.chars().count();
    if length > MAX_LENGTH {
        return Err(Problem::new(
            0,
            format!("expression code point size exceeds limit: size: {length}, limit {MAX_LENGTH}"),
        ));
    }
    let mut parser = Parser {
        tokens: tokens(source)?,
        next: 0,
        level: 0,
    };
    let expr = parser.expression()?;
    match parser.word() {
        Word::End => Ok(expr),
        other => Err(parser.unexpected(&other, "expecting <EOF>")),
    }
}

type Parsed<T = Expr> = Result<T, Problem>;

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    level: u16,
}

/// How tightly the operators bind that bind least.
const CHOICE: u8 = 0;
const DISJUNCTION: u8 = 1;

/// How tightly an operator binds.
fn binding(mark: &str) -> Option<u8> {
    Some(match mark {
        "?" => CHOICE,
        "||" => DISJUNCTION,
        "&&" => 2,
        _ => match operator(mark)? {
            Operator::Add | Operator::Subtract => 4,
            Operator::Multiply | Operator::Divide | Operator::Remainder => 5,
            _ => 3,
        },
    })
}

fn operator(mark: &str) -> Option<Operator> {
    Some(match mark {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "in" => Operator::In,
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Remainder,
        _ => return None,
    })
}

/// Two operands with an operator between.
fn combined(at: u32, mark: &str, left: Expr, right: Expr) -> Parsed {
    let Some(operator) = operator(mark) else {
        return Err(Problem::new(
            at,
            format!("Syntax error: no operator {mark}"),
        ));
    };
    let kind = Kind::Binary {
        operator,
        left: Box::new(left),
        right: Box::new(right),
    };
    node(at, kind)
}

/// A chain of one junction is one node, however long it is.
fn joined(at: u32, mark: &str, mut left: Expr, right: Expr) -> Parsed {
    let parts = match &mut left.kind {
        Kind::All(parts) if mark == "&&" && !left.closed => parts,
        Kind::Any(parts) if mark == "||" && !left.closed => parts,
        _ => {
            let parts = vec![left, right];
            return node(
                at,
                if mark == "&&" {
                    Kind::All(parts)
                } else {
                    Kind::Any(parts)
                },
            );
        }
    };
    let depth = right.depth + 1;
    parts.push(right);
    left.depth = left.depth.max(depth);
    if left.depth > MAX_DEPTH {
        return Err(too_deep(at));
    }
    Ok(left)
}

impl Parser {
    fn word(&self) -> Word {
        self.tokens
            .get(self.next)
            .map_or(Word::End, |token| token.word.clone())
    }

    fn place(&self) -> u32 {
        self.tokens
            .get(self.next)
            .or_else(|| self.tokens.last())
            .map_or(0, |token| token.at)
    }

    fn unexpected(&self, word: &Word, expected: &str) -> Problem {
        let shown = match word {
            Word::End => "<EOF>".to_owned(),
            Word::Mark(mark) => (*mark).to_owned(),
            Word::Name(name) | Word::QuotedName(name) => name.to_string(),
            Word::Literal(literal) => match literal {
                Literal::Null => "null".to_owned(),
                Literal::Bool(value) => value.to_string(),
                Literal::Int(value) => value.to_string(),
                Literal::Uint(value) => format!("{value}u"),
                Literal::Double(value) => value.to_string(),
                Literal::String(text) => format!("{text:?}"),
                Literal::Bytes(_) => "bytes".to_owned(),
            },
        };
        Problem::new(
            self.place(),
            format!("Syntax error: mismatched input '{shown}' {expected}"),
        )
    }

    fn is_at(&self, mark: &str) -> bool {
        matches!(self.tokens.get(self.next), Some(Token { word: Word::Mark(m), .. }) if *m == mark)
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = self.is_at(mark);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &'static str) -> Parsed<()> {
        if self.take(mark) {
            return Ok(());
        }
        Err(self.unexpected(&self.word(), &format!("expecting '{mark}'")))
    }

    fn descend(&mut self) -> Parsed<()> {
        self.level += 1;
        if self.level > MAX_DEPTH {
            return Err(too_deep(self.place()));
        }
        Ok(())
    }

    /// A whole expression. One function for all operators keeps the levels of an expression shallow on the stack.
    fn expression(&mut self) -> Parsed {
        self.descend()?;
        let expr = self.operation(CHOICE);
        self.level -= 1;
        expr
    }

    /// Operators that bind at least as tightly as `tightness`.
    fn operation(&mut self, tightness: u8) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let at = self.place();
            let Some(Token {
                word: Word::Mark(mark),
                ..
            }) = self.tokens.get(self.next)
            else {
                return Ok(left);
            };
            let mark = *mark;
            let Some(binds) = binding(mark).filter(|binds| *binds >= tightness) else {
                return Ok(left);
            };
            self.next += 1;
            left = match mark {
                "?" => self.choice(at, left)?,
                "&&" | "||" => {
                    let right = self.operation(binds + 1)?;
                    joined(at, mark, left, right)?
                }
                _ => {
                    let right = self.operation(binds + 1)?;
                    combined(at, mark, left, right)?
                }
            };
        }
    }

    fn choice(&mut self, at: u32, condition: Expr) -> Parsed {
        let then = self.operation(DISJUNCTION)?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        node(at, Kind::Choose(Box::new([condition, then, otherwise])))
    }

    fn unary(&mut self) -> Parsed {
        let at = self.place();
        let mark = if self.is_at("!") {
            "!"
        } else if self.is_at("-") {
            "-"
        } else {
            return self.member();
        };
        let mut times = 0_u32;
        while self.take(mark) {
            times += 1;
        }
        // A minus right before a number belongs to it.
        let number = match self.word() {
            Word::Literal(Literal::Int(number)) if mark == "-" => {
                Some(Literal::Int(number.wrapping_neg()))
            }
            Word::Literal(Literal::Double(number)) if mark == "-" => Some(Literal::Double(-number)),
            _ => None,
        };
        let operand = match number {
            Some(literal) => {
                times -= 1;
                self.next += 1;
                let operand = node(at, Kind::Literal(literal))?;
                self.members(operand)?
            }
            None => self.member()?,
        };
        if times.is_multiple_of(2) {
            return Ok(operand);
        }
        let operand = Box::new(operand);
        node(
            at,
            if mark == "!" {
                Kind::Not(operand)
            } else {
                Kind::Negate(operand)
            },
        )
    }

    fn member(&mut self) -> Parsed {
        let operand = self.primary()?;
        self.members(operand)
    }

    fn members(&mut self, mut operand: Expr) -> Parsed {
        loop {
            let at = self.place();
            if self.take(".") {
                let optional = self.take("?");
                let field = self.field_name()?;
                let open = self.place();
                if !optional && self.take("(") {
                    let args = self.arguments()?;
                    operand = macros::member(open, operand, field, args)?;
                } else {
                    let select = Select {
                        operand: Box::new(operand),
                        field,
                        optional,
                        test: false,
                    };
                    operand = node(at, Kind::Select(select))?;
                }
            } else if self.take("[") {
                let optional = self.take("?");
                let index = Box::new(self.expression()?);
                self.expect("]")?;
                let kind = Kind::Index {
                    operand: Box::new(operand),
                    index,
                    optional,
                };
                operand = node(at, kind)?;
            } else if self.is_at("{") && is_type_name(&operand) {
                return Err(Problem::new(
                    at,
                    "objects cannot be made by the name of a type here",
                ));
            } else {
                return Ok(operand);
            }
        }
    }

    fn field_name(&mut self) -> Parsed<Arc<str>> {
        let name = match self.word() {
            Word::Name(name) | Word::QuotedName(name) => name,
            Word::Mark("in") => "in".into(),
            other => return Err(self.unexpected(&other, "expecting IDENTIFIER")),
        };
        self.next += 1;
        Ok(name)
    }

    fn primary(&mut self) -> Parsed {
        let at = self.place();
        let word = self.word();
        self.next += 1;
        match word {
            Word::Literal(Literal::Int(i64::MIN)) => Err(Problem::new(at, "invalid int literal")),
            Word::Literal(literal) => node(at, Kind::Literal(literal)),
            Word::Mark("(") => {
                let mut inner = self.expression()?;
                self.expect(")")?;
                inner.closed = true;
                Ok(inner)
            }
            Word::Mark("[") => self.list(at),
            Word::Mark("{") => self.map(at),
            // A leading dot means the outermost name; there are no others.
            Word::Mark(".") => self.primary(),
            Word::Name(name) if RESERVED.contains(&&*name) => {
                Err(Problem::new(at, format!("reserved identifier: {name}")))
            }
            Word::Name(name) => {
                let open = self.place();
                if self.take("(") {
                    let args = self.arguments()?;
                    return macros::global(open, name, args);
                }
                node(at, Kind::Name(name))
            }
            other => {
                self.next -= 1;
                Err(self.unexpected(&other, "expecting an expression"))
            }
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        while !self.take(")") {
            args.push(self.expression()?);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(args)
    }

    fn list(&mut self, at: u32) -> Parsed {
        let mut items = Vec::new();
        while !self.take("]") {
            let optional = self.take("?");
            let value = self.expression()?;
            items.push(Item { value, optional });
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        node(at, Kind::List(items))
    }

    fn map(&mut self, at: u32) -> Parsed {
        let mut entries = Vec::new();
        while !self.take("}") {
            let optional = self.take("?");
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            entries.push(Entry {
                key,
                value,
                optional,
            });
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        node(at, Kind::Map(entries))
    }
}

fn is_type_name(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Name(_) => true,
        Kind::Select(select) => is_type_name(&select.operand),
        _ => false,
    }
}

fn too_deep(at: u32) -> Problem {
    Problem::new(
        at,
        format!("expression recursion limit exceeded: {MAX_DEPTH}"),
    )
}

/// An expression, unless it is too deep.
pub(crate) fn node(at: u32, kind: Kind) -> Parsed {
    let mut expr = Expr {
        at,
        depth: 0,
        closed: false,
        ty: Type::Dyn,
        kind,
    };
    let below = expr.children().iter().map(|child| child.depth).max();
    expr.depth = below.unwrap_or(0) + 1;
    if expr.depth > MAX_DEPTH {
        return Err(too_deep(at));
    }
    Ok(expr)
}
