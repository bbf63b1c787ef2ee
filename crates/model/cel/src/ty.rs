//! The types expressions are checked against.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What an expression or a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Anything; looked at when the program runs.
    Dyn,
    /// Nothing at all.
    Null,
    /// `true` or `false`.
    Bool,
    /// A signed number of 64 bits.
    Int,
    /// An unsigned number of 64 bits.
    Uint,
    /// A number with a fraction.
    Double,
    /// A text.
    String,
    /// A run of bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// A list of one type.
    List(Arc<Type>),
    /// A map from keys of one type to values of another.
    Map(Arc<Type>, Arc<Type>),
    /// An object with known fields.
    Object(Arc<ObjectType>),
    /// A value that may be absent.
    Optional(Arc<Type>),
    /// A type, as a value.
    Type,
    /// A value with functions and nothing to look into.
    Opaque(Opaque),
    /// A placeholder in a signature.
    Param(u8),
}

/// The values that only functions can look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// A resource quantity.
    Quantity,
    /// An address of the web.
    Url,
    /// An address of the internet protocol.
    Ip,
    /// A range of such addresses.
    Cidr,
    /// A version number.
    Semver,
    /// A named rule for texts.
    Format,
    /// Whoever may be asked about permissions.
    Authorizer,
    /// A question about a path.
    PathCheck,
    /// A question about the resources of a group.
    GroupCheck,
    /// A question about a resource.
    ResourceCheck,
    /// The answer to a question.
    Decision,
}

/// An object with known fields.
#[derive(Debug, Default, PartialEq)]
pub struct ObjectType {
    /// What messages call it.
    pub name: String,
    /// The fields by the names expressions use.
    pub fields: BTreeMap<Arc<str>, Field>,
}

/// A field of an object.
#[derive(Debug, PartialEq)]
pub struct Field {
    /// What it is called in objects.
    pub name: Arc<str>,
    /// What it holds.
    pub ty: Type,
}

impl Type {
    /// A list of `items`.
    #[must_use]
    pub fn list(items: Type) -> Self {
        Self::List(Arc::new(items))
    }

    /// A map from texts to `values`.
    #[must_use]
    pub fn map_of(values: Type) -> Self {
        Self::Map(Arc::new(Self::String), Arc::new(values))
    }

    /// A value of `ty`, or none.
    #[must_use]
    pub fn optional(ty: Type) -> Self {
        Self::Optional(Arc::new(ty))
    }

    /// An object with these fields, whose names need no escapes.
    #[must_use]
    pub fn object<'n>(name: &str, fields: impl IntoIterator<Item = (&'n str, Type)>) -> Self {
        let fields = fields.into_iter().map(|(name, ty)| {
            let name: Arc<str> = name.into();
            (Arc::clone(&name), Field { name, ty })
        });
        Self::Object(Arc::new(ObjectType {
            name: name.to_owned(),
            fields: fields.collect(),
        }))
    }

    /// Whether nothing is known before the program runs.
    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Param(_))
    }

    /// Whether values of both types may be compared or stand in one list.
    pub(crate) fn agrees_with(&self, other: &Type) -> bool {
        match (self, other) {
            (a, b) if a.is_dyn() || b.is_dyn() => true,
            (Self::Null, b) => !b.is_plain(),
            (a, Self::Null) => !a.is_plain(),
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => {
                a.agrees_with(b)
            }
            (Self::Map(a, b), Self::Map(c, d)) => a.agrees_with(c) && b.agrees_with(d),
            // One schema is compiled once for every place that mentions it.
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a == b,
        }
    }

    /// Types that `null` is never a value of.
    fn is_plain(&self) -> bool {
        matches!(
            self,
            Self::Bool | Self::Int | Self::Uint | Self::Double | Self::String | Self::Bytes
        )
    }
}

impl Opaque {
    /// What messages and `type()` call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quantity => "kubernetes.Quantity",
            Self::Url => "kubernetes.URL",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Semver => "kubernetes.Semver",
            Self::Format => "kubernetes.NamedFormat",
            Self::Authorizer => "kubernetes.authorization.Authorizer",
            Self::PathCheck => "kubernetes.authorization.PathCheck",
            Self::GroupCheck => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck => "kubernetes.authorization.ResourceCheck",
            Self::Decision => "kubernetes.authorization.Decision",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::List(items) => write!(f, "list({items})"),
            Self::Map(keys, values) => write!(f, "map({keys}, {values})"),
            Self::Object(object) => f.write_str(&object.name),
            Self::Optional(ty) => write!(f, "optional_type({ty})"),
            Self::Type => f.write_str("type"),
            Self::Opaque(opaque) => f.write_str(opaque.name()),
            Self::Param(place) => write!(f, "{}", char::from(b'A'.saturating_add(*place))),
        }
    }
}
