use std::{collections::BTreeSet, sync::Arc};

use schema::{ListKind, MapKind};

use super::{catalog::files, *};
use crate::kinds::kinds;

#[test]
fn the_embedded_files_are_in_their_usual_form() {
    for text in files() {
        let file = parse(text).unwrap();
        let printed = file.to_string();
        assert_eq!(parse(&printed).unwrap(), file);
        for (line, (have, want)) in text.lines().zip(printed.lines()).enumerate() {
            assert_eq!(have, want, "{} line {}", file.title, line + 1);
        }
        assert_eq!(*text, printed, "{}", file.title);
    }
}

#[test]
fn every_type_that_is_referred_to_exists_and_has_a_line_of_documentation() {
    let catalog = catalog();
    let mut seen = BTreeSet::new();
    for (name, def) in catalog.iter() {
        assert!(seen.insert(name), "{name} is defined twice");
        assert!(def.doc.is_some(), "{name} is not documented");
        let Body::Fields(fields) = &def.body else {
            continue;
        };
        for field in fields {
            let mut ty = &field.ty;
            while let TypeExpr::List(inner) | TypeExpr::Map(inner) = ty {
                ty = inner;
            }
            if let TypeExpr::Named {
                package,
                name: target,
            } = ty
            {
                assert!(
                    catalog.named(ty).is_some(),
                    "{name}.{} refers to {package}.{target}",
                    field.name
                );
            }
            if let Merge::By(keys) = &field.merge {
                let element = catalog.def(catalog.named(ty).unwrap());
                let Body::Fields(fields) = &element.body else {
                    panic!("{name}.{} has keys", field.name)
                };
                for key in keys {
                    assert!(
                        fields.iter().any(|field| field.name == *key),
                        "{name}.{} has no {key}",
                        field.name
                    );
                }
            }
            if let Some(Assigned {
                condition: Some((sibling, _)),
                ..
            }) = &field.assigned
            {
                assert!(
                    fields.iter().any(|field| field.name == *sibling),
                    "{name} has no {sibling}"
                );
            }
        }
    }
    assert_eq!(catalog.len(), 570);
}

#[test]
fn the_fields_people_use_most_are_documented() {
    let fields = catalog().iter().flat_map(|(_, def)| match &def.body {
        Body::Fields(fields) => fields.iter().map(|field| field.doc).collect(),
        Body::Value(_) => Vec::new(),
    });
    let documented = fields.filter(Option::is_some).count();
    assert!(documented >= 1500, "{documented} fields are documented");
    for (name, all) in [
        ("PodSpec", true),
        ("Container", true),
        ("ServiceSpec", true),
        ("PersistentVolumeClaimSpec", true),
    ] {
        let id = catalog().id(&format!("io.k8s.api.core.v1.{name}")).unwrap();
        let Body::Fields(fields) = &catalog().def(id).body else {
            panic!("{name} has fields")
        };
        assert_eq!(
            fields.iter().all(|field| field.doc.is_some()),
            all,
            "{name}"
        );
    }
}

#[test]
fn every_kind_has_a_type_and_lists_where_it_can_be_listed() {
    for kind in kinds() {
        assert!(
            catalog().id(&kind.type_name()).is_some(),
            "{}",
            kind.type_name()
        );
        let list = format!("{}.{}", kind.package, kind.list_kind());
        assert_eq!(
            catalog().id(&list).is_some(),
            kind.verbs.contains(&"list"),
            "{list}"
        );
    }
}

#[test]
fn schemas_say_what_the_text_says() {
    let types = types();
    let node = |name: &str| types.node(types.id(&format!("io.k8s.api.core.v1.{name}")).unwrap());
    let container = node("Container");
    assert_eq!(container.required(), [Arc::from("name")]);
    let ports = container.property("ports").unwrap();
    assert_eq!(
        types.node(ports.schema).list,
        ListKind::Map(["containerPort".into(), "protocol".into()].into())
    );
    assert_eq!(
        ports.patch.as_ref().unwrap().merge_key.as_deref(),
        Some("containerPort")
    );
    let protocol = node("ContainerPort").property("protocol").unwrap();
    assert_eq!(protocol.default.as_deref(), Some(&Value::from("TCP")));
    // What objects always have: parts that are no references, and what is required, as nothing or zero.
    for (name, field, unset) in [
        ("Pod", "spec", Some(Value::Object(object::Map::new()))),
        ("PodSpec", "containers", Some(Value::Null)),
        ("PodSpec", "securityContext", None),
        ("Container", "name", Some(Value::from(""))),
        ("Container", "image", None),
        ("ContainerPort", "protocol", None),
    ] {
        let property = node(name).property(field).unwrap();
        assert_eq!(property.unset.as_deref(), unset.as_ref(), "{name}.{field}");
    }
    let limits = types
        .schema("io.k8s.api.core.v1.ResourceRequirements")
        .unwrap();
    for (amount, is_right) in [("500m", true), ("1Gi", true), ("lots", false), ("", false)] {
        let requirements = serde_json::json!({"limits": {"cpu": amount}});
        assert_eq!(
            limits.validate(&requirements).is_empty(),
            is_right,
            "{amount:?}"
        );
    }
    assert_eq!(node("ObjectReference").map, MapKind::Atomic);
    let claim = node("PersistentVolumeSpec").property("claimRef").unwrap();
    assert_eq!(types.node(claim.schema).map, MapKind::Granular);
    assert!(types.node(claim.schema).property("uid").is_some());
    assert_eq!(
        types
            .node(node("PodSpec").property("nodeSelector").unwrap().schema)
            .map,
        MapKind::Atomic
    );
    let policy = types.node(container.property("imagePullPolicy").unwrap().schema);
    assert_eq!(policy.rules.as_ref().unwrap().enumeration.len(), 3);
}

#[test]
fn malformed_lines_are_refused_with_their_number() {
    #[track_caller]
    fn check(text: &str, problem: &str) {
        assert_eq!(parse(text).unwrap_err().to_string(), problem, "{text:?}");
    }
    check("Pod object", "line 1: a package line must come first");
    check(
        "package p\n  name string",
        "line 2: a field needs a type with fields above it",
    );
    check("package p\nT\n  name", "line 3: a field needs a type");
    check(
        "package p\nT\n  b string\n  a string",
        "line 4: field a is out of order",
    );
    check("package p\nT\n  a [string", "line 3: expected ]");
    check("package p\nT\n  a meta.Time", "line 3: unknown alias meta");
    check(
        "package p\nT\n  a string lazy",
        "line 3: unknown mark lazy on field a",
    );
    check("package p\nT\n  a int32(1|2)", "line 3: choices of int32");
    check("package p\nT\n  a:1.0 string", "line 3: field number 1.0");
    check("package p\nT lazy", "line 2: unknown mark lazy on a type");
    check(
        "package p\nuse meta",
        "line 2: expected `use alias = package`",
    );
}
