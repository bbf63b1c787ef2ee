//! The functions expressions may call: names and signatures as text, beside what they do.

pub(crate) mod arithmetic;
mod authorization;
pub(crate) mod convert;
mod lists;
pub(crate) mod names;
pub(crate) mod net;
mod optional;
mod printf;
mod quantities;
mod regexes;
pub(crate) mod semver;
mod sets;
mod strings;
mod times;
pub(crate) mod url;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::evaluate::{Fault, Meter};
use crate::signature::{Signature, read};
use crate::value::Value;

/// What came of a call.
pub(crate) type Outcome<'a> = Result<Value<'a>, Fault>;

/// A function's body. The target of a member call is the first argument.
pub(crate) type Body = for<'a> fn(&mut Meter, &[Value<'a>]) -> Outcome<'a>;

/// A function by one name, with all forms it may be called in.
pub(crate) struct Function {
    pub name: &'static str,
    pub forms: Vec<Signature>,
    pub body: Body,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// One row of a library: the forms of a function, and its body.
pub(crate) type Row = (&'static [&'static str], Body);

const LIBRARIES: &[&[Row]] = &[
    authorization::ROWS,
    convert::ROWS,
    lists::ROWS,
    names::ROWS,
    net::ROWS,
    optional::ROWS,
    quantities::ROWS,
    regexes::ROWS,
    semver::ROWS,
    sets::ROWS,
    strings::ROWS,
    times::ROWS,
    url::ROWS,
];

/// The functions of a name. One name may have several bodies, told apart by the types of their arguments.
pub(crate) fn called(name: &str) -> &'static [Function] {
    static FUNCTIONS: LazyLock<BTreeMap<&'static str, Vec<Function>>> = LazyLock::new(|| {
        let mut functions: BTreeMap<&'static str, Vec<Function>> = BTreeMap::new();
        for (forms, body) in LIBRARIES.iter().copied().flatten() {
            let mut forms = forms.iter().filter_map(|form| read(form)).peekable();
            let Some(name) = forms.peek().map(|(name, _)| *name) else {
                continue;
            };
            functions.entry(name).or_default().push(Function {
                name,
                forms: forms.map(|(_, signature)| signature).collect(),
                body: *body,
            });
        }
        functions
    });
    FUNCTIONS.get(name).map_or(&[], Vec::as_slice)
}

/// Every form of every function, for tests.
#[cfg(test)]
pub(crate) fn all_forms() -> impl Iterator<Item = &'static str> {
    LIBRARIES
        .iter()
        .copied()
        .flatten()
        .flat_map(|(forms, _)| forms.iter().copied())
}
