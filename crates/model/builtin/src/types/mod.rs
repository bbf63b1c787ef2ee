//! The shapes of the built-in kinds, read from the text files under `types/`.
//!
//! A file has one or more packages; a package has types; a type has one line for each field:
//!
//! ```text
//! # Services and endpoints.
//! package io.k8s.api.core.v1
//! use intstr = io.k8s.apimachinery.pkg.util.intstr
//!
//! ServicePort # One port of a service.
//!   name:1        string                      # Name of the port; needed when there are several.
//!   port*:3       int32                       # Port of the service.
//!   protocol:2    string(TCP|UDP) = "TCP"     # The layer 4 protocol.
//!   targetPort:4  intstr.IntOrString shown    # Port at the pods.
//! ```
//!
//! | in the text | meaning |
//! |---|---|
//! | `name*` | the field is required |
//! | `name:3`, `name:2.7` | the field's number in protobuf; with a dot, the number within the part that has the number before it and no name in JSON |
//! | `[T]`, `{T}` | a list of `T`, a map from strings to `T` |
//! | `T?` | zero differs from absent: an explicit `0`, `false` or `""` is kept |
//! | `string(A\|B)` | one of these texts |
//! | `alias.T` | the type `T` of the package named by a `use` line |
//! | `= v` | the default that the OpenAPI documents publish; a required scalar publishes its zero value unless it says `= none` |
//! | `:= v` | set on writing when the field is absent, but not published; `if f = A\|B` makes it depend on a sibling |
//! | `?= v` | the same, where zero and empty count as absent |
//! | `shown` | present in every answer, as `null` or zero when it was never set; required fields always are |
//! | `atomic`, `set`, `by(a, b)` | how list elements are told apart; `atomic`, `granular` on a map or object |
//! | `merge`, `merge(k)`, `replace`, `retainKeys` | the strategic merge patch strategy and its key, where that is not the first of `by` |
//! | `Name object` | the type has `apiVersion`, `kind` and `metadata` as well |
//! | `Name list` | there is a type `NameList` too |
//! | `Name = scalar` | a value type of its own |
//! | `union(d: f=V)` | the field `d` says which of the others is set |
//! | `# text` | documentation, in our words |

mod catalog;
mod parse;
mod print;
mod tables;
#[cfg(test)]
mod tests;
mod wire;

use std::borrow::Cow;

use object::Value;

pub use self::{
    catalog::{Catalog, TypeId, catalog},
    parse::{ParseError, parse},
    tables::{build, types},
    wire::wire,
};

/// One text file of types.
#[derive(Clone, Debug, PartialEq)]
pub struct File<'a> {
    /// What the file is about.
    pub title: &'a str,
    /// Its packages, in order.
    pub packages: Vec<Package<'a>>,
}

/// The types that share a prefix of their published names.
#[derive(Clone, Debug, PartialEq)]
pub struct Package<'a> {
    /// The prefix, such as `io.k8s.api.core.v1`.
    pub name: &'a str,
    /// Short names for other packages.
    pub uses: Vec<(&'a str, &'a str)>,
    /// The types, in order.
    pub types: Vec<TypeDef<'a>>,
}

/// One type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDef<'a> {
    /// Its name within the package.
    pub name: Cow<'a, str>,
    /// What it is.
    pub doc: Option<Cow<'a, str>>,
    /// What it holds.
    pub body: Body<'a>,
    /// Has `apiVersion`, `kind` and `metadata` besides its own fields.
    pub object: bool,
    /// A list type of the same name with `List` appended exists too.
    pub list: bool,
    /// Owned and replaced whole.
    pub atomic: bool,
    /// Which field says which others are set.
    pub union: Option<Union<'a>>,
}

/// What a type holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// Fields, sorted by name.
    Fields(Vec<Field<'a>>),
    /// A value without fields.
    Value(Scalar),
}

/// A field that says which of the others is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Union<'a> {
    /// The deciding field.
    pub discriminator: &'a str,
    /// The fields it decides between and the value that stands for each.
    pub members: Vec<(&'a str, &'a str)>,
}

/// One field of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    /// Its name in JSON.
    pub name: &'a str,
    /// Whether it must be set.
    pub required: bool,
    /// Its number in protobuf, after those of the parts it is in there and not in JSON; empty where it is not sent.
    pub number: Vec<u32>,
    /// What it holds.
    pub ty: TypeExpr<'a>,
    /// Whether an explicit zero differs from an absent value.
    pub keeps_zero: bool,
    /// The default that is published, where the text states one.
    pub published: Published,
    /// What is set on writing when the author left the field out.
    pub assigned: Option<Assigned<'a>>,
    /// Present in answers even when never set, although not required.
    pub shown: bool,
    /// How edits to a list or object combine.
    pub merge: Merge<'a>,
    /// What a strategic merge patch does here.
    pub patch: Option<Patch<'a>>,
    /// What the field means.
    pub doc: Option<&'a str>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeExpr<'a> {
    /// A plain value.
    Scalar(Scalar),
    /// One of these texts.
    Choice(Vec<&'a str>),
    /// A list.
    List(Box<TypeExpr<'a>>),
    /// A map from strings.
    Map(Box<TypeExpr<'a>>),
    /// Another type, by package and name.
    Named {
        /// The package's full name.
        package: &'a str,
        /// The type's name in it.
        name: &'a str,
    },
}

/// The plain values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    String,
    /// `true` or `false`.
    Bool,
    /// A 32-bit number.
    Int32,
    /// A 64-bit number.
    Int64,
    /// A floating point number.
    Double,
    /// Bytes in base64.
    Byte,
    /// A moment in RFC 3339.
    DateTime,
    /// A resource quantity.
    Quantity,
    /// A whole number or a text.
    IntOrString,
    /// An object with any fields.
    Object,
    /// Any JSON value.
    Any,
}

/// The default of a field in the published documents.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// The text says nothing: the zero value for required scalars, otherwise none.
    Implied,
    /// None, although the field is a required scalar.
    None,
    /// This value.
    Value(Value),
}

/// A value set on writing.
#[derive(Clone, Debug, PartialEq)]
pub struct Assigned<'a> {
    /// The value.
    pub value: Value,
    /// Whether zero and empty count as absent.
    pub zero_is_absent: bool,
    /// A sibling field and the values it must have.
    pub condition: Option<(&'a str, Vec<&'a str>)>,
}

/// How edits by several authors combine.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Merge<'a> {
    /// Nothing is said.
    #[default]
    Unstated,
    /// Replaced whole.
    Atomic,
    /// Merged field by field.
    Granular,
    /// A list of distinct values.
    Set,
    /// A list whose elements are known by these fields.
    By(Vec<&'a str>),
}

/// A strategic merge patch strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch<'a> {
    /// Elements merge into the list.
    pub merge: bool,
    /// The patch may name the fields to keep.
    pub retain_keys: bool,
    /// The value is replaced.
    pub replace: bool,
    /// The field that tells elements apart.
    pub key: Option<&'a str>,
}

impl Scalar {
    const NAMES: [(&'static str, Self); 11] = [
        ("string", Self::String),
        ("bool", Self::Bool),
        ("int32", Self::Int32),
        ("int64", Self::Int64),
        ("double", Self::Double),
        ("byte", Self::Byte),
        ("date-time", Self::DateTime),
        ("quantity", Self::Quantity),
        ("int-or-string", Self::IntOrString),
        ("object", Self::Object),
        ("any", Self::Any),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, scalar)| *scalar)
    }

    fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("any", |(name, _)| name)
    }
}

impl TypeExpr<'_> {
    /// The zero value of a type whose absent values are written as zero; `None` for lists, maps and objects.
    fn zero(&self) -> Option<Value> {
        Some(match self {
            Self::Scalar(Scalar::String) | Self::Choice(_) => Value::String(String::new()),
            Self::Scalar(Scalar::Bool) => Value::Bool(false),
            Self::Scalar(Scalar::Int32 | Scalar::Int64) => Value::from(0),
            _ => return None,
        })
    }
}

impl Field<'_> {
    /// The default in the published documents.
    #[must_use]
    pub fn published_default(&self) -> Option<Value> {
        match &self.published {
            Published::Value(value) => Some(value.clone()),
            Published::None => None,
            Published::Implied if self.required && !self.keeps_zero => self.ty.zero(),
            Published::Implied => None,
        }
    }

    /// What the field is while nobody has set it; `None` if it is absent then.
    #[must_use]
    pub fn unset(&self, catalog: &Catalog) -> Option<Value> {
        match &self.published {
            // Parts of an object that are objects themselves, not references to one that may be missing.
            Published::Value(Value::Object(parts)) if parts.is_empty() => {
                return Some(Value::Object(object::Map::new()));
            }
            Published::None => return None,
            _ if !self.required && !self.shown => return None,
            _ => {}
        }
        let zero = || match catalog.named(&self.ty).map(|id| &catalog.def(id).body) {
            Some(Body::Value(Scalar::Quantity)) => Value::from("0"),
            Some(Body::Value(Scalar::IntOrString)) => Value::from(0),
            _ => Value::Null,
        };
        let zero_of_type = self.ty.zero().filter(|_| !self.keeps_zero);
        Some(zero_of_type.unwrap_or_else(zero))
    }
}
