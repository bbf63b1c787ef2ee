//! Random sequences of requests about one object of a user's own kind.

use serde_json::{Value, json};

use super::values::value;
use crate::dice::Dice;

/// One request. `$name`, `$uid`, `$rv` and `$first` in it stand for what each server knows the object by.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// The path below the server's root, with the query.
    pub(crate) path: String,
    pub(crate) media: &'static str,
    pub(crate) body: Body,
}

/// What a request carries.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Nothing,
    Json(Value),
    /// As it is, well-formed or not.
    Text(String),
}

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A sequence about one object.
pub(crate) fn sequence(dice: &mut Dice, definition: &Value, length: usize) -> Vec<Request> {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let things = format!("/apis/{group}/v1/namespaces/default/things");
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let mut source = Source {
        dice,
        api: format!("{group}/v1"),
        things,
        schema,
    };
    let mut requests = vec![if source.dice.chance(70) {
        source.create()
    } else {
        source.apply("")
    }];
    for _ in 1..length {
        requests.push(source.any());
    }
    requests
}

struct Source<'a> {
    dice: &'a mut Dice,
    api: String,
    things: String,
    schema: &'a Value,
}

impl Source<'_> {
    fn any(&mut self) -> Request {
        match self.dice.below(40) {
            0..=1 => self.create(),
            2..=6 => self.put(""),
            7 => self.put("/status"),
            8..=12 => self.merge(""),
            13 => self.merge("/status"),
            14..=18 => self.json_patch(),
            19..=31 => self.apply(""),
            32 => self.apply("/status"),
            33 => self.plain("GET", ""),
            34..=35 => self.delete(),
            36 => self.list(),
            37 => self.strategic(),
            38 => self.malformed(),
            _ => self.plain("GET", "/status"),
        }
    }

    fn object(&mut self) -> Value {
        let mut object = json!({
            "apiVersion": self.api, "kind": "Thing",
            "metadata": {"name": "$name"},
            "spec": value(self.dice, &self.schema["spec"]),
        });
        if self.dice.chance(15) {
            object["metadata"]["labels"] =
                json!({"l": self.dice.pick(&["a", "b", "", "bad value"])});
        }
        if self.dice.chance(10) {
            object["metadata"]["annotations"] =
                json!({"n/o": "x", "p": self.dice.pick(&["", "é"])});
        }
        if self.dice.chance(5) {
            object["metadata"]["finalizers"] = json!(["test.io/hold"]);
        }
        if self.dice.chance(15) {
            object["status"] = value(self.dice, &self.schema["status"]);
        }
        if self.dice.chance(3) {
            object["extra"] = json!({"a": 1});
        }
        if self.dice.chance(2) {
            object["metadata"]["unknown"] = json!(1);
        }
        if self.dice.chance(2) {
            object["kind"] = json!("Other");
        }
        if self.dice.chance(2) {
            object["metadata"]["labels"] = json!({"l": 5});
        }
        object
    }

    /// What may be asked of any write.
    fn query(&mut self, first: &str) -> String {
        let mut query = first.to_owned();
        if self.dice.chance(30) {
            query += "&fieldValidation=";
            query += self.dice.pick(&["Strict", "Warn", "Ignore", "Strict"]);
        }
        if self.dice.chance(8) {
            query += "&dryRun=All";
        }
        query
    }

    fn manager(&mut self) -> &'static str {
        self.dice.pick(&["one", "two", "three"])
    }

    fn create(&mut self) -> Request {
        let manager = self.manager();
        let query = self.query(&format!("?fieldManager={manager}"));
        let mut object = self.object();
        if self.dice.chance(3) {
            object["metadata"]["name"] = json!("Bad_Name");
        }
        Request {
            method: "POST",
            path: format!("{}{query}", self.things),
            media: JSON,
            body: Body::Json(object),
        }
    }

    fn put(&mut self, part: &str) -> Request {
        let manager = self.manager();
        let query = self.query(&format!("?fieldManager={manager}"));
        let mut object = self.object();
        match self.dice.below(12) {
            0 => object["metadata"]["resourceVersion"] = json!("$first"),
            1 => {}
            2 => {
                object["metadata"]["resourceVersion"] = json!("$rv");
                object["metadata"]["uid"] = json!("wrong");
            }
            3 => object["metadata"]["resourceVersion"] = json!("abc"),
            _ => object["metadata"]["resourceVersion"] = json!("$rv"),
        }
        Request {
            method: "PUT",
            path: format!("{}/$name{part}{query}", self.things),
            media: JSON,
            body: Body::Json(object),
        }
    }

    fn merge(&mut self, part: &str) -> Request {
        let manager = self.manager();
        let query = self.query(&format!("?fieldManager={manager}"));
        let mut patch = json!({"spec": value(self.dice, &self.schema["spec"])});
        if part == "/status" {
            patch["status"] = value(self.dice, &self.schema["status"]);
        }
        if self.dice.chance(30) {
            let name = format!("f{}", self.dice.below(4));
            if patch["spec"].is_object() {
                patch["spec"][name] = Value::Null;
            }
        }
        if self.dice.chance(15) {
            patch["metadata"] = json!({"labels": {"l": null, "m": "n"}});
        }
        if self.dice.chance(5) {
            patch["metadata"] = json!({"finalizers": null});
        }
        if self.dice.chance(3) {
            patch["metadata"] = json!({"name": "other"});
        }
        if self.dice.chance(3) {
            patch = json!([1]);
        }
        Request {
            method: "PATCH",
            path: format!("{}/$name{part}{query}", self.things),
            media: MERGE,
            body: Body::Json(patch),
        }
    }

    fn json_patch(&mut self) -> Request {
        let manager = self.manager();
        let query = self.query(&format!("?fieldManager={manager}"));
        let mut operations = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            let field = format!("f{}", self.dice.below(5));
            let path = match self.dice.below(8) {
                0 => String::from("/metadata/labels"),
                1 => format!("/spec/{field}/0"),
                2 => format!("/spec/{field}/-"),
                3 => format!("/spec/{field}/g0"),
                4 => String::from("/status/phase"),
                _ => format!("/spec/{field}"),
            };
            let value = value(self.dice, &self.schema["spec"]["properties"][&field]);
            let value = if path.ends_with("labels") {
                json!({"a": "b"})
            } else {
                value
            };
            operations.push(match self.dice.below(9) {
                0..=3 => json!({"op": "add", "path": path, "value": value}),
                4..=5 => json!({"op": "replace", "path": path, "value": value}),
                6 => json!({"op": "remove", "path": path}),
                7 => json!({"op": "copy", "from": path, "path": "/spec/f1"}),
                _ => json!({"op": "test", "path": path, "value": value}),
            });
        }
        Request {
            method: "PATCH",
            path: format!("{}/$name{query}", self.things),
            media: PATCH,
            body: Body::Json(Value::Array(operations)),
        }
    }

    fn apply(&mut self, part: &str) -> Request {
        let manager = self.manager();
        let force = if self.dice.chance(40) {
            "&force=true"
        } else {
            ""
        };
        let query = self.query(&format!("?fieldManager={manager}{force}"));
        let mut object = self.object();
        if part == "/status" {
            object["status"] = value(self.dice, &self.schema["status"]);
        }
        if self.dice.chance(4) {
            object["metadata"]["resourceVersion"] = json!("$first");
        }
        if self.dice.chance(3) {
            object["metadata"]["managedFields"] = json!([]);
        }
        Request {
            method: "PATCH",
            path: format!("{}/$name{part}{query}", self.things),
            media: APPLY,
            body: Body::Json(object),
        }
    }

    fn strategic(&mut self) -> Request {
        let patch = json!({"spec": value(self.dice, &self.schema["spec"])});
        Request {
            method: "PATCH",
            path: format!("{}/$name", self.things),
            media: STRATEGIC,
            body: Body::Json(patch),
        }
    }

    fn delete(&mut self) -> Request {
        let body = match self.dice.below(5) {
            0 => json!({"preconditions": {"uid": "wrong"}}),
            1 => json!({"preconditions": {"resourceVersion": "$first"}}),
            2 => {
                json!({"propagationPolicy": self.dice.pick(&["Orphan", "Foreground", "Background", "Sideways"])})
            }
            3 => json!({"preconditions": {"uid": "$uid", "resourceVersion": "$rv"}}),
            _ => Value::Null,
        };
        let body = if body.is_null() {
            Body::Nothing
        } else {
            Body::Json(body)
        };
        Request {
            method: "DELETE",
            path: format!("{}/$name", self.things),
            media: JSON,
            body,
        }
    }

    fn list(&mut self) -> Request {
        let query = self.dice.pick(&[
            "labelSelector=l%3Da",
            "labelSelector=l",
            "fieldSelector=metadata.name%3D$name",
            "fieldSelector=spec.f0%3Dx",
            "labelSelector=%3D%3D",
            "limit=500&fieldSelector=metadata.name%3D$name",
        ]);
        // Other sequences' objects would be seen otherwise.
        let query =
            match query.contains("$name") || query.contains("spec") || query.contains("%3D%3D") {
                true => query.to_owned(),
                false => format!("{query}&fieldSelector=metadata.name%3D$name"),
            };
        Request {
            method: "GET",
            path: format!("{}?{query}", self.things),
            media: JSON,
            body: Body::Nothing,
        }
    }

    fn malformed(&mut self) -> Request {
        let (method, path, media, text) = match self.dice.below(6) {
            0 => ("POST", String::new(), JSON, "{\"metadata\": {"),
            1 => ("POST", String::new(), JSON, "[]"),
            2 => ("PUT", String::from("/$name"), JSON, "{\"apiVersion\": 5}"),
            3 => (
                "PATCH",
                String::from("/$name?fieldManager=one"),
                APPLY,
                "a: [b",
            ),
            4 => ("PATCH", String::from("/$name"), PATCH, "{\"op\": \"add\"}"),
            _ => ("PATCH", String::from("/$name"), MERGE, "nonsense"),
        };
        Request {
            method,
            path: format!("{}{path}", self.things),
            media,
            body: Body::Text(text.to_owned()),
        }
    }

    fn plain(&mut self, method: &'static str, part: &str) -> Request {
        Request {
            method,
            path: format!("{}/$name{part}", self.things),
            media: JSON,
            body: Body::Nothing,
        }
    }
}
