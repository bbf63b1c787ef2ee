use object::Value;
use serde_json::json;

use super::{
    ApplyError, NoOtherVersion, Write, fieldset::FieldSet, keep_times, managers::Managers,
    write::Versions,
};
use crate::{Schema, crd};

fn schema() -> Schema {
    let port = json!({
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": {"type": "string"},
        },
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "image": {"type": "string"},
            "args": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": port,
            },
            "selector": {
                "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"},
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    let whole = json!({"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {"ready": {"type": "integer"}}}}});
    crd::read(&whole, &"s".into()).unwrap()
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "namespace": "ns"}, "spec": spec})
}

/// Applies declarations in turn, each by its manager; panics where one conflicts.
struct History {
    schema: Schema,
    live: Option<Value>,
    seconds: i64,
}

impl History {
    fn new() -> Self {
        Self {
            schema: schema(),
            live: None,
            seconds: 0,
        }
    }

    fn write<'a>(schema: &'a Schema, seconds: i64, manager: &'a str) -> Write<'a> {
        let now = object::time::Time::from_unix_seconds(seconds);
        Write {
            schema,
            api_version: "a/v1",
            versions: &NoOtherVersion,
            manager,
            subresource: "",
            now,
        }
    }

    fn try_apply(&mut self, manager: &str, spec: Value, force: bool) -> Result<bool, ApplyError> {
        self.seconds += 1;
        let write = Self::write(&self.schema, self.seconds, manager);
        let applied = write.apply(self.live.as_ref(), &object(spec), force)?;
        self.live = Some(applied.object);
        Ok(applied.changed)
    }

    #[track_caller]
    fn apply(mut self, manager: &str, spec: Value) -> Self {
        self.try_apply(manager, spec, false).unwrap();
        self
    }

    fn update(mut self, manager: &str, spec: Value) -> Self {
        self.seconds += 1;
        let mut new = object(spec);
        let managed = Self::write(&self.schema, self.seconds, manager)
            .update(self.live.as_ref(), &new)
            .unwrap();
        if let Some(managed) = managed {
            new["metadata"]["managedFields"] = managed;
        }
        new["metadata"]["uid"] = json!("u");
        self.live = Some(new);
        self
    }

    fn spec(&self) -> Value {
        self.live.as_ref().unwrap()["spec"].clone()
    }

    /// Each manager with the paths it owns.
    fn owners(&self) -> Vec<String> {
        let managers = Managers::of(self.live.as_ref().unwrap()).unwrap();
        let mut owners = Vec::new();
        for (manager, owned) in &managers.0 {
            let paths: Vec<String> = owned
                .fields
                .paths()
                .iter()
                .map(|path| path.iter().map(ToString::to_string).collect())
                .collect();
            owners.push(format!("{manager}: {}", paths.join(" ")));
        }
        owners
    }
}

#[test]
fn what_is_declared_is_owned_and_identity_is_not() {
    let history = History::new().apply(
        "a",
        json!({"replicas": 1, "args": ["x"], "selector": {"k": "v"}}),
    );
    assert_eq!(
        history.owners(),
        [r#""a": .spec.args .spec.replicas .spec.selector"#]
    );
}

#[test]
fn list_elements_are_known_by_their_keys_and_defaults() {
    let history = History::new()
        .apply(
            "a",
            json!({"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}),
        )
        .apply(
            "b",
            json!({"ports": [{"port": 80, "protocol": "TCP", "name": "web"}]}),
        );
    assert_eq!(
        history.spec(),
        json!({"ports": [{"port": 80, "protocol": "TCP", "name": "web"}, {"port": 80, "protocol": "UDP"}]})
    );
    assert_eq!(
        history.owners()[1],
        r#""b": .spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].name .spec.ports[port=80,protocol="TCP"].port .spec.ports[port=80,protocol="TCP"].protocol"#
    );
}

#[test]
fn what_is_no_longer_declared_goes_unless_others_own_it() {
    let history = History::new()
        .apply(
            "a",
            json!({"replicas": 1, "image": "x", "tags": ["p", "q"]}),
        )
        .apply("b", json!({"image": "x", "tags": ["q"]}))
        .apply("a", json!({}));
    assert_eq!(history.spec(), json!({"image": "x", "tags": ["q"]}));
    assert_eq!(
        history.owners(),
        [r#""a": .spec"#, r#""b": .spec.image .spec.tags[="q"]"#]
    );
}

#[test]
fn changing_what_others_own_conflicts_until_forced() {
    let mut history = History::new()
        .apply("a", json!({"replicas": 1, "image": "x"}))
        .update("scaler", json!({"replicas": 5, "image": "x"}));
    assert_eq!(
        history.owners(),
        [
            r#""a": .spec.image"#,
            r#""scaler" using a/v1: .spec.replicas"#
        ]
    );
    let before = history.live.clone();
    let error = history
        .try_apply("a", json!({"replicas": 2, "image": "x"}), false)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Apply failed with 1 conflict: conflict with "scaler" using a/v1: .spec.replicas"#
    );
    let ApplyError::Conflicts(conflicts) = error else {
        panic!("not a conflict")
    };
    assert_eq!(
        conflicts[0].message(),
        r#"conflict with "scaler" using a/v1"#
    );
    assert_eq!(conflicts[0].field, ".spec.replicas");
    assert_eq!(history.live, before, "nothing changed");
    history
        .try_apply("a", json!({"replicas": 2, "image": "x"}), true)
        .unwrap();
    assert_eq!(history.owners(), [r#""a": .spec.image .spec.replicas"#]);
}

#[test]
fn agreeing_with_the_owner_shares_a_field() {
    let history = History::new()
        .apply("a", json!({"replicas": 1}))
        .apply("b", json!({"replicas": 1}));
    assert_eq!(
        history.owners(),
        [r#""a": .spec.replicas"#, r#""b": .spec.replicas"#]
    );
}

#[test]
fn objects_nobody_applied_belong_to_before_first_apply() {
    let mut history = History::new();
    history.live = Some(object(json!({"replicas": 1, "image": "x"})));
    let history = history.apply("a", json!({"replicas": 1}));
    assert_eq!(
        history.owners(),
        [
            r#""a": .spec.replicas"#,
            r#""before-first-apply" using a/v1: .spec .spec.image .spec.replicas"#
        ]
    );
}

#[test]
fn nothing_changed_keeps_the_time() {
    let mut history = History::new().apply("a", json!({"replicas": 1}));
    let before = history.live.clone();
    assert_eq!(
        history.try_apply("a", json!({"replicas": 1}), false),
        Ok(false)
    );
    assert_eq!(history.live, before);
    let mut later = before.clone().unwrap();
    later["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    keep_times(&mut later, before.as_ref().unwrap());
    assert_eq!(Some(later), before);
}

#[test]
fn updates_of_untracked_objects_stay_untracked() {
    let mut history = History::new();
    let mut stored = object(json!({"replicas": 1}));
    stored["metadata"]["uid"] = json!("u");
    history.live = Some(stored);
    let history = history.update("a", json!({"replicas": 2}));
    assert!(history.owners().is_empty());
}

#[test]
fn too_many_updaters_become_ancient() {
    let mut history = History::new();
    for number in 0..12 {
        history = history.update(
            &format!("m{number:02}"),
            json!({"free": {(format!("f{number:02}")): 1}}),
        );
    }
    // Each update removed the field of the one before: let them add instead.
    let mut fields = object::Map::new();
    let mut history = History::new();
    for number in 0..12 {
        fields.insert(format!("f{number:02}"), json!(1));
        history = history.update(&format!("m{number:02}"), json!({"free": fields.clone()}));
    }
    let owners = history.owners();
    assert_eq!(owners.len(), 10, "{owners:#?}");
    assert!(
        owners[0].starts_with(r#""ancient-changes" using a/v1: "#),
        "{owners:#?}"
    );
}

#[test]
fn declarations_must_fit_the_schema() {
    let mut history = History::new();
    for (spec, message) in [
        (
            json!({"nope": 1}),
            ".spec.nope: field not declared in schema",
        ),
        (
            json!({"replicas": "1"}),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            json!({"tags": ["a", "a"]}),
            r#".spec.tags: duplicate entries for key [="a"]"#,
        ),
        (
            json!({"ports": [{"name": "x", "port": 1}, 3]}),
            ".spec.ports: element 1: associative list with keys may not have non-map elements",
        ),
        (
            json!({"tags": {}}),
            ".spec.tags: expected list, got &{map[]}",
        ),
    ] {
        let error = history.try_apply("a", spec, false).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("failed to create typed patch object (ns/n; a/v1, Kind=K): {message}")
        );
    }
    let write = History::write(&history.schema, 1, "a");
    let other = json!({"apiVersion": "a/v2", "kind": "K"});
    assert!(matches!(
        write.apply(None, &other, false),
        Err(ApplyError::BadRequest(_))
    ));
    let managed = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"managedFields": []}});
    let error = write.apply(None, &managed, false).unwrap_err();
    assert_eq!(error.to_string(), "metadata.managedFields must be nil");
}

#[test]
fn kubectl_takes_over_what_it_applied_from_the_client() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let history = History::new().update(
        "kubectl-client-side-apply",
        json!({"replicas": 1, "image": "x"}),
    );
    let mut live = history.live.unwrap();
    let applied = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "namespace": "ns"}, "spec": {"replicas": 1}});
    live["metadata"]["annotations"] = json!({ANNOTATION: applied.to_string()});
    let schema = schema();
    let write = History::write(&schema, 9, "kubectl");
    let taken = write
        .apply(Some(&live), &object(json!({"replicas": 2})), false)
        .unwrap();
    assert_eq!(taken.object["spec"], json!({"replicas": 2, "image": "x"}));
    let note = taken.object["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .unwrap();
    assert_eq!(note, r#"{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n","namespace":"ns"},"spec":{"replicas":2}}"#.to_owned() + "\n");
    let error = write
        .apply(Some(&live), &object(json!({"image": "y"})), false)
        .unwrap_err();
    assert!(error.to_string().ends_with(".spec.image"), "{error}");
}

#[test]
fn what_a_manager_owns_can_be_taken_out() {
    let history = History::new()
        .apply(
            "a",
            json!({"replicas": 1, "ports": [{"port": 1}, {"port": 2, "name": "x"}]}),
        )
        .apply("b", json!({"image": "x", "ports": [{"port": 2}]}));
    let write = History::write(&history.schema, 0, "b");
    let owned = write.owned(history.live.as_ref().unwrap()).unwrap();
    assert_eq!(owned["spec"], json!({"ports": [{"port": 2}], "image": "x"}));
    assert_eq!(
        History::write(&history.schema, 0, "c").owned(history.live.as_ref().unwrap()),
        None
    );
}

/// The same kind in two versions: `spec.replicas` is called `spec.image` in the other, as text.
struct TwoVersions(Schema);

impl Versions for TwoVersions {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        (api_version == "a/v2").then_some(&self.0)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let mut object = object.clone();
        let spec = object["spec"].as_object_mut().ok_or("no spec")?;
        if api_version == "a/v2" {
            if let Some(value) = spec.shift_remove("replicas") {
                spec.insert("image".to_owned(), json!(value.to_string()));
            }
        } else if let Some(value) = spec.shift_remove("image") {
            let number: i64 = value
                .as_str()
                .and_then(|text| text.parse().ok())
                .ok_or("no number")?;
            spec.insert("replicas".to_owned(), json!(number));
        }
        object["apiVersion"] = json!(api_version);
        Ok(object)
    }

    fn ignored(&self, _: &str) -> Option<FieldSet> {
        Some(FieldSet::of_fields(&[&["status"]]))
    }
}

#[test]
fn owners_in_other_versions_are_asked_in_theirs() {
    let schema = schema();
    let versions = TwoVersions(schema.clone());
    let write = |api_version, manager| Write {
        schema: &schema,
        api_version,
        versions: &versions,
        manager,
        subresource: "",
        now: object::time::Time::from_unix_seconds(1),
    };
    let new = json!({"apiVersion": "a/v2", "kind": "K", "metadata": {"name": "n"}, "spec": {"image": "1"}, "status": {"ready": 1}});
    let created = write("a/v2", "old")
        .apply(None, &new, false)
        .unwrap()
        .object;
    let fields = &created["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(
        *fields,
        json!({"f:spec": {"f:image": {}}}),
        "ignored fields have no owner"
    );
    let live = versions.convert(&created, "a/v1").unwrap();
    let declared = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"replicas": 2}});
    let error = write("a/v1", "new")
        .apply(Some(&live), &declared, false)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Apply failed with 1 conflict: conflict with "old": .spec.image"#
    );
    let forced = write("a/v1", "new")
        .apply(Some(&live), &declared, true)
        .unwrap()
        .object;
    assert_eq!(forced["spec"], json!({"replicas": 2}));
    assert_eq!(
        forced["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn parts_of_what_is_now_owned_whole_become_the_whole() {
    let mut history = History::new().apply("a", json!({"selector": {"k": "v"}}));
    let live = history.live.as_mut().unwrap();
    live["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:selector": {".": {}, "f:k": {}}}});
    let history = history.apply("b", json!({"replicas": 1}));
    assert_eq!(history.owners()[0], r#""a": .spec.selector"#);
}
