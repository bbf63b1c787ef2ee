//! What an expression may speak of: declared variables and their types.

use std::sync::Arc;

use crate::ty::{Opaque, Type};

/// Declared variables, in the order of their declaration.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) types: Vec<Type>,
}

impl Environment {
    /// Nothing declared.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one variable more; one of that name is declared anew.
    #[must_use]
    pub fn declare(mut self, name: &str, ty: Type) -> Self {
        if let Some(place) = self.place(name) {
            if let Some(known) = self.types.get_mut(place) {
                *known = ty;
            }
            return self;
        }
        self.names.push(name.into());
        self.types.push(ty);
        self
    }

    /// The same without a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        if let Some(place) = self.place(name) {
            self.names.remove(place);
            self.types.remove(place);
        }
        self
    }

    /// What rules in schemas speak of: the value at their place, and the one before.
    #[must_use]
    pub fn rule(own: Type, old: Type) -> Self {
        Self::new().declare("self", own).declare("oldSelf", old)
    }

    /// What conditions and policies of admission speak of: `object`, `oldObject`, `request`, `namespaceObject`,
    /// `authorizer` and `authorizer.requestResource`. Policies with parameters and variables declare `params` and
    /// `variables` beside them.
    #[must_use]
    pub fn admission() -> Self {
        Self::new()
            .declare("object", Type::Dyn)
            .declare("oldObject", Type::Dyn)
            .declare("request", request())
            .declare("namespaceObject", Type::Dyn)
            .declare("authorizer", Type::Opaque(Opaque::Authorizer))
            .declare(
                "authorizer.requestResource",
                Type::Opaque(Opaque::ResourceCheck),
            )
    }

    /// The same with variables that are programs, known by their results. A later one may speak of earlier ones.
    #[must_use]
    pub fn variables<'n>(self, variables: impl IntoIterator<Item = (&'n str, Type)>) -> Self {
        let ty = Type::object("kubernetes.variables", variables);
        self.declare("variables", ty)
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| &**known == name)
    }
}

/// What is known of a request: the fields of an AdmissionRequest other than the objects.
fn request() -> Type {
    let kind = || {
        Type::object(
            "kubernetes.GroupVersionKind",
            ["group", "version", "kind"].map(|name| (name, Type::String)),
        )
    };
    let resource = || {
        Type::object(
            "kubernetes.GroupVersionResource",
            ["group", "version", "resource"].map(|name| (name, Type::String)),
        )
    };
    let user = Type::object(
        "kubernetes.UserInfo",
        [
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", Type::list(Type::String)),
            ("extra", Type::map_of(Type::list(Type::String))),
        ],
    );
    Type::object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind()),
            ("resource", resource()),
            ("subResource", Type::String),
            ("requestKind", kind()),
            ("requestResource", resource()),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}
