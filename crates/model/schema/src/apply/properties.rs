//! What holds for any objects and any declarations.

use object::{Map, Value, time::Time};
use proptest::prelude::*;
use serde_json::json;

use super::{
    ApplyError, NoOtherVersion, Write,
    fieldset::FieldSet,
    managers::Managers,
    path::PathElement,
    typed::{Ty, fields_of},
};
use crate::{Schema, crd};

fn schema() -> Schema {
    let leaf = json!({"type": "integer"});
    let item = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": leaf}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item});
    let spec = json!({"type": "object", "properties": {
        "n": leaf,
        "keyed": keyed,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "whole": {"type": "array", "items": leaf},
        "map": {"type": "object", "additionalProperties": leaf},
        "inner": {"type": "object", "properties": {"n": leaf, "keyed": keyed}},
    }});
    crd::read(
        &json!({"type": "object", "properties": {"spec": spec}}),
        &"s".into(),
    )
    .unwrap()
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(vec!["p", "q", "r"], 1..=3)
        .prop_shuffle()
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

fn keyed() -> impl Strategy<Value = Value> {
    (
        names(),
        proptest::collection::vec(proptest::option::of(0..3), 3),
    )
        .prop_map(|(names, values)| {
            let items = names.iter().zip(values).map(|(name, v)| match v {
                Some(v) => json!({"name": name, "v": v}),
                None => json!({"name": name}),
            });
            Value::Array(items.collect())
        })
}

fn fields(parts: Vec<(&str, Option<Value>)>) -> Value {
    let present = parts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map>())
}

prop_compose! {
    fn spec()(
        n in proptest::option::of(0..3),
        list in proptest::option::of(keyed()),
        set in proptest::option::of(names()),
        whole in proptest::option::of(proptest::collection::vec(0..3, 0..3)),
        map in proptest::option::of(names()),
        inner in proptest::option::of((proptest::option::of(0..3), proptest::option::of(keyed()))),
    ) -> Value {
        let map = map.map(|names| Value::Object(names.into_iter().map(|name| (name, json!(1))).collect()));
        let inner = inner.map(|(n, list)| fields(vec![("n", Some(n.unwrap_or(9).into())), ("keyed", list)]));
        // An empty object counts as a field of its own until something is put into it; here there is none.
        let is_empty = list.is_none() && set.is_none() && whole.is_none() && map.is_none() && inner.is_none();
        fields(vec![
            ("n", n.or(is_empty.then_some(9)).map(Value::from)),
            ("keyed", list),
            ("set", set.map(Value::from)),
            ("whole", whole.map(Value::from)),
            ("map", map),
            ("inner", inner),
        ])
    }
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec})
}

fn write<'a>(schema: &'a Schema, manager: &'a str) -> Write<'a> {
    Write {
        schema,
        api_version: "a/v1",
        versions: &NoOtherVersion,
        manager,
        subresource: "",
        now: Time::from_unix_seconds(0),
    }
}

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-z./:\"]{0,4}".prop_map(|name| PathElement::field(&name)),
        (any::<bool>(), "[a-z\"\\\\]{0,3}", any::<i64>()).prop_map(|(two, text, number)| {
            let one = ("a".into(), Value::from(text));
            PathElement::key(if two {
                vec![one, ("b".into(), Value::from(number))]
            } else {
                vec![one]
            })
        }),
        any::<i64>()
            .prop_map(|number| PathElement::Value(std::sync::Arc::new(Value::from(number)))),
        "[a-z]{0,3}".prop_map(|text| PathElement::Value(std::sync::Arc::new(Value::from(text)))),
        any::<i64>().prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = FieldSet> {
    let path = proptest::collection::vec(element(), 1..4);
    proptest::collection::vec(path, 0..12).prop_map(|paths| {
        let mut set = FieldSet::new();
        paths.iter().for_each(|path| set.insert(path));
        set
    })
}

/// The fields of an object as Kubernetes counts them.
fn leaves(schema: &Schema, object: &Value) -> FieldSet {
    fields_of(Ty::of(schema), object).1
}

/// Owners as any client may send them: in any order, with odd times, of other kinds of elements, in another version.
fn managed() -> impl Strategy<Value = Value> {
    let owned = prop_oneof![
        4 => spec().prop_map(|spec| leaves(&schema(), &json!({"spec": spec})).encode()),
        1 => set().prop_map(|set| set.encode()),
        1 => Just(json!({"f:spec": {"f:n": {}, ".": {}, "f:whole": {"i:0": {}}}})),
        1 => Just(json!({"f:spec": {"f:n": {".": {}}, "f:map": {}}})),
    ];
    let entry = (
        proptest::sample::select(vec!["a", "b", "c"]),
        proptest::sample::select(vec!["Apply", "Update", "Update"]),
        proptest::sample::select(vec!["a/v1", "a/v1", "a/v1", "a/v1", "a/v0"]),
        proptest::option::of(proptest::sample::select(vec![
            json!("1970-01-01T00:00:01Z"),
            json!("1970-01-01T00:00:02Z"),
            json!("1970-01-01T01:00:00+01:00"),
            json!("soon"),
            json!(null),
        ])),
        proptest::option::of(Just("status")),
        owned,
    )
        .prop_map(|(name, operation, version, time, subresource, owned)| {
            fields(vec![
                ("manager", Some(name.into())),
                ("operation", Some(operation.into())),
                ("apiVersion", Some(version.into())),
                ("time", time),
                ("fieldsType", Some("FieldsV1".into())),
                ("fieldsV1", Some(owned)),
                ("subresource", subresource.map(Value::from)),
            ])
        });
    proptest::collection::vec(entry, 0..5).prop_map(Value::Array)
}

/// Both ways to record an update agree to the letter; says whether the short one was taken.
#[track_caller]
fn check_ways_agree(write: &Write<'_>, live: &Value, new: &Value) -> bool {
    let text = |entries: Result<Option<Value>, _>| {
        entries.map(|entries| entries.map(|entries| entries.to_string()))
    };
    let expected = text(write.update_in_full(Some(live), new));
    assert_eq!(text(write.update(Some(live), new)), expected);
    let mut owned = new.clone();
    write.own(Some(live), &mut owned);
    let mut kept = new.clone();
    match expected.unwrap_or_default() {
        Some(entries) => {
            kept["metadata"]["managedFields"] = serde_json::from_str(&entries).unwrap()
        }
        None => drop(
            kept["metadata"]
                .as_object_mut()
                .unwrap()
                .shift_remove("managedFields"),
        ),
    }
    super::keep_times(&mut kept, live);
    assert_eq!(owned.to_string(), kept.to_string());
    super::shortcut::record(write, live, new).is_some()
}

#[test]
fn usual_updates_take_the_short_way() {
    let schema = schema();
    let first = object(
        &json!({"n": 1, "keyed": [{"name": "p", "v": 1}, {"name": "q"}], "map": {"p": 1}, "set": ["x"]}),
    );
    let mut live = first.clone();
    write(&schema, "a").own(None, &mut live);
    for (manager, spec) in [
        (
            "a",
            json!({"n": 2, "keyed": [{"name": "p", "v": 1}, {"name": "q"}], "map": {"p": 1}, "set": ["x"]}),
        ),
        (
            "b",
            json!({"n": 2, "keyed": [{"name": "p", "v": 2}], "map": {"p": 1, "q": 1}, "set": ["x", "y"]}),
        ),
        (
            "c",
            json!({"n": 2, "keyed": [{"name": "p", "v": 2}], "map": {"p": 1, "q": 1}, "set": ["x", "y"]}),
        ),
        ("c", json!({"n": 3})),
    ] {
        let mut new = live.clone();
        new["spec"] = spec;
        assert!(
            check_ways_agree(&write(&schema, manager), &live, &new),
            "{new}"
        );
        write(&schema, manager).own(Some(&live), &mut new);
        live = new;
    }
}

proptest! {
    #[test]
    fn both_ways_to_record_an_update_agree(
        before in spec(), after in spec(), change in any::<bool>(), stored in managed(), given in proptest::option::of(managed()),
        manager in proptest::sample::select(vec!["a", "b", "d", ""]), subresource in proptest::sample::select(vec!["", "", "status"]),
    ) {
        let schema = schema();
        let mut live = object(&before);
        live["metadata"]["managedFields"] = stored.clone();
        let mut new = object(if change { &after } else { &before });
        new["metadata"]["labels"] = json!({"x": "y"});
        match given {
            Some(given) => new["metadata"]["managedFields"] = given,
            None if change => new["metadata"]["managedFields"] = stored,
            None => {}
        }
        let write = Write { subresource, now: Time::from_unix_seconds(2), ..write(&schema, manager) };
        check_ways_agree(&write, &live, &new);
        // Once more from what was written, which is as the server writes it.
        write.own(Some(&live), &mut new);
        let mut next = new.clone();
        next["spec"] = before;
        check_ways_agree(&write, &new, &next);
        check_ways_agree(&write, &new, &new);
    }

    #[test]
    fn sets_survive_being_written(set in set()) {
        prop_assert_eq!(FieldSet::decode(&set.encode()).unwrap(), set);
    }

    #[test]
    fn sets_obey_the_laws_of_sets(a in set(), b in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        for path in a.paths() {
            prop_assert!(a.has(&path) && a.union(&b).has(&path));
            prop_assert_eq!(a.intersection(&b).has(&path), b.has(&path));
        }
    }

    #[test]
    fn applying_twice_changes_nothing_more(live in spec(), declared in spec()) {
        let schema = schema();
        let created = write(&schema, "a").apply(None, &object(&live), true).unwrap().object;
        let once = write(&schema, "b").apply(Some(&created), &object(&declared), true).unwrap().object;
        let twice = write(&schema, "b").apply(Some(&once), &object(&declared), false).unwrap();
        prop_assert!(!twice.changed);
        prop_assert_eq!(twice.object, once);
    }

    #[test]
    fn merging_invents_no_fields_and_keeps_the_declared_ones(live in spec(), declared in spec()) {
        let schema = schema();
        let created = write(&schema, "a").apply(None, &object(&live), true).unwrap().object;
        let merged = write(&schema, "b").apply(Some(&created), &object(&declared), true).unwrap().object;
        let mut bare = merged.clone();
        bare["metadata"].as_object_mut().unwrap().shift_remove("managedFields");
        let (before, wanted) = (leaves(&schema, &object(&live)), leaves(&schema, &object(&declared)));
        let after = leaves(&schema, &bare);
        prop_assert!(after.difference(&before.union(&wanted)).is_empty());
        prop_assert!(wanted.difference(&after).is_empty());
        // What the applier owns afterwards, taken out again, is what it declared.
        let owned = write(&schema, "b").owned(&merged).unwrap_or_else(|| json!({}));
        let never = FieldSet::of_fields(&[&["apiVersion"], &["kind"], &["metadata"], &["metadata", "name"]]);
        prop_assert_eq!(leaves(&schema, &owned).difference(&never), wanted.difference(&never));
    }

    #[test]
    fn withdrawing_removes_what_only_the_applier_owned(first in spec(), second in spec()) {
        let schema = schema();
        let a = write(&schema, "a").apply(None, &object(&first), true).unwrap().object;
        let both = write(&schema, "b").apply(Some(&a), &object(&second), true).unwrap().object;
        let owned_by_a = |object: &Value| {
            let managers = Managers::of(object).unwrap();
            managers.0.iter().find(|(manager, _)| manager.name == "a").map(|(_, owned)| owned.fields.clone()).unwrap_or_default()
        };
        let left = write(&schema, "b").apply(Some(&both), &object(&json!({})), true).unwrap().object;
        // Nothing of the other owner goes; of one's own only what contains something of the other's stays.
        prop_assert!(owned_by_a(&both).difference(&owned_by_a(&left)).is_empty());
        let kept = leaves(&schema, &left);
        for path in owned_by_a(&both).paths() {
            prop_assert!(kept.has(&path), "lost {path:?}");
        }
    }

    #[test]
    fn conflicts_change_nothing_and_name_fields_of_others(first in spec(), second in spec()) {
        let schema = schema();
        let a = write(&schema, "a").apply(None, &object(&first), true).unwrap().object;
        match write(&schema, "b").apply(Some(&a), &object(&second), false) {
            Ok(applied) => {
                // Without force nobody loses a field.
                let before = Managers::of(&a).unwrap();
                let after = Managers::of(&applied.object).unwrap();
                for (manager, owned) in &before.0 {
                    let now = after.0.get(manager).map(|owned| owned.fields.clone()).unwrap_or_default();
                    prop_assert!(owned.fields.difference(&now).is_empty());
                }
            }
            Err(ApplyError::Conflicts(conflicts)) => {
                prop_assert!(!conflicts.is_empty());
                prop_assert!(conflicts.iter().all(|conflict| conflict.manager.name == "a"));
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn a_changed_field_has_one_owner_after_an_update(first in spec(), second in spec()) {
        let schema = schema();
        let a = write(&schema, "a").apply(None, &object(&first), true).unwrap().object;
        let mut new = object(&second);
        new["metadata"]["managedFields"] = write(&schema, "u").update(Some(&a), &new).unwrap().unwrap_or_default();
        let managers = Managers::of(&new).unwrap();
        let sets: Vec<&FieldSet> = managers.0.values().map(|owned| &owned.fields).collect();
        for (place, set) in sets.iter().enumerate() {
            for other in sets.iter().skip(place + 1) {
                prop_assert!(set.intersection(other).is_empty());
            }
        }
    }
}
