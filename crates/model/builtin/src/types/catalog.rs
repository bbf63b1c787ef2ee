//! All types of all files, found by their published names.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use super::{Body, Field, Merge, Published, TypeDef, TypeExpr, parse};

/// The place of a type in the [`Catalog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(pub(crate) usize);

/// All built-in types, with the fields and list types that the text leaves to its marks.
#[derive(Debug)]
pub struct Catalog {
    types: Vec<(String, TypeDef<'static>)>,
    names: BTreeMap<String, TypeId>,
}

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

const FILES: [&str; 28] = [
    include_str!("../../types/meta.types"),
    include_str!("../../types/core/pod.types"),
    include_str!("../../types/core/volume.types"),
    include_str!("../../types/core/service.types"),
    include_str!("../../types/core/node.types"),
    include_str!("../../types/core/namespace.types"),
    include_str!("../../types/core/cluster.types"),
    include_str!("../../types/apps.types"),
    include_str!("../../types/batch.types"),
    include_str!("../../types/autoscaling-v1.types"),
    include_str!("../../types/autoscaling-v2.types"),
    include_str!("../../types/networking.types"),
    include_str!("../../types/policy.types"),
    include_str!("../../types/rbac.types"),
    include_str!("../../types/storage.types"),
    include_str!("../../types/scheduling.types"),
    include_str!("../../types/coordination.types"),
    include_str!("../../types/discovery.types"),
    include_str!("../../types/events.types"),
    include_str!("../../types/certificates.types"),
    include_str!("../../types/node.types"),
    include_str!("../../types/admissionregistration.types"),
    include_str!("../../types/apiextensions.types"),
    include_str!("../../types/apiregistration.types"),
    include_str!("../../types/authentication.types"),
    include_str!("../../types/authorization.types"),
    include_str!("../../types/flowcontrol.types"),
    include_str!("../../types/resource.types"),
];

/// The types of all built-in kinds, read on first use.
#[must_use]
pub fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::read);
    &CATALOG
}

impl Catalog {
    /// The type published as `name`, such as `io.k8s.api.core.v1.Container`.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// The type at `id`.
    #[must_use]
    pub fn def(&self, id: TypeId) -> &TypeDef<'static> {
        let (_, def) = self
            .types
            .get(id.0)
            .expect("invariant: ids come from this catalog");
        def
    }

    /// The type a field refers to; `None` for plain values, lists and maps.
    #[must_use]
    pub fn named(&self, ty: &TypeExpr<'_>) -> Option<TypeId> {
        match ty {
            TypeExpr::Named { package, name } => self.id(&format!("{package}.{name}")),
            _ => None,
        }
    }

    /// All types with their published names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TypeDef<'static>)> {
        self.types.iter().map(|(name, def)| (name.as_str(), def))
    }

    /// How many types there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Reads the embedded text anew; [`catalog`] does so once.
    #[must_use]
    pub fn read() -> Self {
        let mut catalog = Self {
            types: Vec::new(),
            names: BTreeMap::new(),
        };
        for text in FILES {
            let file = parse(text).expect("invariant: the embedded types are well-formed");
            for package in file.packages {
                for def in package.types {
                    if def.list {
                        catalog.add(package.name, list_of(package.name, &def));
                    }
                    catalog.add(package.name, def);
                }
            }
        }
        catalog
    }

    fn add(&mut self, package: &str, mut def: TypeDef<'static>) {
        if def.object {
            add_object_fields(&mut def);
        }
        let name = format!("{package}.{}", def.name);
        self.names.insert(name.clone(), TypeId(self.types.len()));
        self.types.push((name, def));
    }
}

/// The texts of the embedded files, for the test of the format.
#[cfg(test)]
pub(super) fn files() -> &'static [&'static str] {
    &FILES
}

fn add_object_fields(def: &mut TypeDef<'static>) {
    let Body::Fields(fields) = &mut def.body else {
        return;
    };
    fields.extend([
        plain(
            "apiVersion",
            "The version of the API the object is written in.",
        ),
        plain("kind", "The kind of the object."),
        metadata(
            "ObjectMeta",
            "Name, labels and other facts that every object has.",
        ),
    ]);
    fields.sort_by_key(|field| field.name);
}

fn list_of(package: &'static str, def: &TypeDef<'static>) -> TypeDef<'static> {
    let Cow::Borrowed(item) = def.name else {
        unreachable!("invariant: names come from the text")
    };
    let items = Field {
        required: true,
        number: vec![2],
        ty: TypeExpr::List(Box::new(TypeExpr::Named {
            package,
            name: item,
        })),
        ..plain("items", "The objects.")
    };
    TypeDef {
        name: Cow::Owned(format!("{item}List")),
        doc: Some(Cow::Owned(format!("A list of {item} objects."))),
        body: Body::Fields(vec![
            plain(
                "apiVersion",
                "The version of the API the list is written in.",
            ),
            items,
            plain("kind", "The kind of the list."),
            metadata("ListMeta", "What the list says about itself."),
        ]),
        object: false,
        list: false,
        atomic: false,
        union: None,
    }
}

fn plain(name: &'static str, doc: &'static str) -> Field<'static> {
    Field {
        name,
        required: false,
        number: Vec::new(),
        ty: TypeExpr::Scalar(super::Scalar::String),
        keeps_zero: false,
        published: Published::Implied,
        assigned: None,
        shown: false,
        merge: Merge::Unstated,
        patch: None,
        doc: Some(doc),
    }
}

fn metadata(ty: &'static str, doc: &'static str) -> Field<'static> {
    Field {
        number: vec![1],
        ty: TypeExpr::Named {
            package: META,
            name: ty,
        },
        published: Published::Value(serde_json::json!({})),
        ..plain("metadata", doc)
    }
}
