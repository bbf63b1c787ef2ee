//! What every start makes sure of: the roles and bindings an API has.
//!
//! A role keeps what was added to it and gets back what it lacks; one of this process's own parts is also cut back to what
//! the part does. A binding keeps its subjects and gets back those it lacks. Both are left alone if they say so
//! by `rbac.authorization.kubernetes.io/autoupdate: "false"`.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use object::{Map, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serve::cache::{self, Cache};
use serve::server::Server;

use crate::names::{self, RBAC_GROUP};
use crate::roles::{self, AUTOUPDATE, Additions, Expected};
use crate::rule::{self, Rule};

/// What a start does about one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is as it should be, or wants to be left alone.
    Keep,
    /// It is not there.
    Create(Value),
    /// It lacks something.
    Update(Value),
    /// It binds another role, which cannot be changed.
    Replace(Value),
}

/// How many writes are under way at once, so that they share the store's syncs.
const AT_ONCE: usize = 64;

/// Makes sure of roles and bindings. Returns how many objects were written.
pub async fn ensure(server: &Server, mut expected: Vec<Expected>) -> usize {
    complete_gathered(server.cache(), &mut expected);
    let steps = expected.into_iter().filter_map(|expected| {
        let existing = find(server.cache(), &expected);
        match step(existing.as_ref(), &expected.object, expected.additions) {
            Step::Keep => None,
            step => Some((expected, step)),
        }
    });
    let writes = stream::iter(steps)
        .map(|(expected, step)| carry_out(server, expected, step))
        .buffer_unordered(AT_ONCE);
    writes
        .filter(|done| std::future::ready(*done))
        .count()
        .await
}

/// Fills in what roles gather, from what is expected and what is already there.
fn complete_gathered(cache: &Cache, expected: &mut [Expected]) {
    let is_cluster_role = |expected: &&Expected| expected.plural == "clusterroles";
    let mut all: BTreeMap<String, Value> = cache
        .collection(&cache::name_of(RBAC_GROUP, "clusterroles"))
        .snapshot()
        .objects
        .values()
        .map(|record| (record.key().to_owned(), record.value()))
        .collect();
    for expected in expected.iter().filter(is_cluster_role) {
        all.entry(expected.name.clone())
            .or_insert_with(|| expected.object.clone());
    }
    roles::gather_all(&mut all);
    for expected in expected
        .iter_mut()
        .filter(|expected| expected.object.get("aggregationRule").is_some())
    {
        if let Some(gathered) = all.get(&expected.name) {
            expected.object["rules"] = gathered["rules"].clone();
        }
    }
}

fn find(cache: &Cache, expected: &Expected) -> Option<Value> {
    let collection = cache.collection(&cache::name_of(RBAC_GROUP, expected.plural));
    let record = collection.find(&cache::object_key(&expected.namespace, &expected.name))?;
    Some(record.value())
}

/// What to do about an object, given what is there and what should be.
#[must_use]
pub fn step(existing: Option<&Value>, expected: &Value, additions: Additions) -> Step {
    let Some(existing) = existing else {
        return Step::Create(expected.clone());
    };
    if existing["metadata"]["annotations"][AUTOUPDATE] == "false" {
        return Step::Keep;
    }
    let mut wanted = existing.clone();
    for field in ["labels", "annotations"] {
        add_missing(&mut wanted["metadata"], field, &expected["metadata"][field]);
    }
    if expected.get("roleRef").is_some() {
        if existing["roleRef"] != expected["roleRef"] {
            return Step::Replace(expected.clone());
        }
        add_subjects(&mut wanted, &expected["subjects"]);
    } else {
        if additions == Additions::Go {
            cut_back(&mut wanted, expected);
        }
        complete_role(&mut wanted, expected);
    }
    if wanted == *existing {
        Step::Keep
    } else {
        Step::Update(wanted)
    }
}

/// What is there counts, even where something else is expected.
fn add_missing(metadata: &mut Value, field: &str, expected: &Value) {
    let Some(expected) = expected.as_object() else {
        return;
    };
    if !metadata[field].is_object() {
        metadata[field] = Value::Object(Map::new());
    }
    for (key, value) in expected {
        if metadata[field].get(key).is_none() {
            metadata[field][key] = value.clone();
        }
    }
}

/// Takes away what a role is not expected to say.
fn cut_back(role: &mut Value, expected: &Value) {
    if !rule::missing(&Rule::all_of(expected), &Rule::all_of(role)).is_empty() {
        role["rules"] = expected["rules"].clone();
    }
}

fn complete_role(role: &mut Value, expected: &Value) {
    let missing = rule::missing(&Rule::all_of(role), &Rule::all_of(expected));
    if !missing.is_empty() {
        if !role["rules"].is_array() {
            role["rules"] = Value::Array(Vec::new());
        }
        if let Some(rules) = role["rules"].as_array_mut() {
            rules.extend(missing.iter().map(Rule::to_value));
        }
    }
    match (
        role.get("aggregationRule").is_some(),
        expected.get("aggregationRule"),
    ) {
        (true, None) => {
            if let Some(fields) = role.as_object_mut() {
                fields.shift_remove("aggregationRule");
            }
        }
        (_, Some(rule)) => {
            let mut selectors = role["aggregationRule"]["clusterRoleSelectors"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let lacking = rule["clusterRoleSelectors"]
                .as_array()
                .into_iter()
                .flatten();
            for selector in lacking {
                if !selectors.contains(selector) {
                    selectors.push(selector.clone());
                }
            }
            role["aggregationRule"]["clusterRoleSelectors"] = selectors.into();
        }
        (false, None) => {}
    }
}

fn add_subjects(binding: &mut Value, expected: &Value) {
    let mut subjects = binding["subjects"].as_array().cloned().unwrap_or_default();
    let same = |a: &Value, b: &Value| {
        let text =
            |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        ["kind", "name", "namespace"]
            .iter()
            .all(|field| text(a, field) == text(b, field))
    };
    for subject in expected.as_array().into_iter().flatten() {
        if !subjects.iter().any(|known| same(known, subject)) {
            subjects.push(subject.clone());
        }
    }
    if !subjects.is_empty() {
        binding["subjects"] = subjects.into();
    }
}

async fn carry_out(server: &Server, expected: Expected, step: Step) -> bool {
    let collection = collection_path(&expected);
    let name = utf8_percent_encode(&expected.name, NON_ALPHANUMERIC);
    let object = format!("{collection}/{name}");
    let done = match step {
        Step::Keep => return false,
        Step::Create(value) => write(server, Method::POST, &collection, Some(&value)).await,
        Step::Update(value) => write(server, Method::PUT, &object, Some(&value)).await,
        Step::Replace(value) => match write(server, Method::DELETE, &object, None).await {
            Ok(()) => write(server, Method::POST, &collection, Some(&value)).await,
            refused => refused,
        },
    };
    if let Err((code, message)) = done {
        let (kind, namespace, name) = (expected.plural, &expected.namespace, &expected.name);
        tracing::warn!(kind, namespace, name, %code, message, "role or binding not brought up to date");
        return false;
    }
    true
}

fn collection_path(expected: &Expected) -> String {
    let plural = expected.plural;
    match expected.namespace.as_str() {
        "" => format!("/apis/{RBAC_GROUP}/v1/{plural}"),
        namespace => format!("/apis/{RBAC_GROUP}/v1/namespaces/{namespace}/{plural}"),
    }
}

async fn write(
    server: &Server,
    method: Method,
    path: &str,
    object: Option<&Value>,
) -> Result<(), (StatusCode, String)> {
    let body = object.map(Value::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let response = server.answer(names::apiserver(), request).await;
    let code = response.status();
    // Another replica of the server may do the same at the same time.
    if code.is_success() || code == StatusCode::CONFLICT {
        return Ok(());
    }
    let body = match response.into_body().collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    Err((code, String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(table: &str) -> Value {
        roles::parse(table, "l").unwrap().remove(0).object
    }

    #[test]
    fn roles_are_completed_and_never_cut_back() {
        let expected = one("clusterrole r in a\n  get list | core | pods\n  get | paths | /x\n");
        let mut added = expected.clone();
        added["rules"]
            .as_array_mut()
            .unwrap()
            .push(json!({"verbs": ["delete"], "apiGroups": [""], "resources": ["secrets"]}));
        added["metadata"]["labels"]["mine"] = json!("1");
        let mut lacking = added.clone();
        lacking["rules"][0]["verbs"] = json!(["get"]);
        let mut completed = lacking.clone();
        completed["rules"]
            .as_array_mut()
            .unwrap()
            .push(json!({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}));
        let mut unlabelled = expected.clone();
        unlabelled["metadata"]["labels"] = json!({"l": "mine"});
        let mut labelled = unlabelled.clone();
        labelled["metadata"]["labels"]["rbac.authorization.k8s.io/a"] = json!("true");
        let mut left_alone = lacking.clone();
        left_alone["metadata"]["annotations"][AUTOUPDATE] = json!("false");
        for (existing, step_expected) in [
            (None, Step::Create(expected.clone())),
            (Some(&expected), Step::Keep),
            (Some(&added), Step::Keep),
            (Some(&lacking), Step::Update(completed)),
            (Some(&unlabelled), Step::Update(labelled)),
            (Some(&left_alone), Step::Keep),
        ] {
            assert_eq!(step(existing, &expected, Additions::Stay), step_expected);
        }
    }

    #[test]
    fn roles_of_our_own_parts_say_what_they_should_and_no_more() {
        let expected = one("clusterrole r\n  get list | core | pods\n");
        let more = one("clusterrole r\n  get list | core | pods\n  * | * | *\n");
        let other = one("clusterrole r\n  get | core | pods secrets\n");
        for (existing, step_expected) in [
            (&expected, Step::Keep),
            (&more, Step::Update(expected.clone())),
            (&other, Step::Update(expected.clone())),
        ] {
            let taken = step(Some(existing), &expected, Additions::Go);
            assert_eq!(taken, step_expected);
        }
        let mut left_alone = more.clone();
        left_alone["metadata"]["annotations"][AUTOUPDATE] = json!("false");
        let taken = step(Some(&left_alone), &expected, Additions::Go);
        assert_eq!(taken, Step::Keep);
    }

    #[test]
    fn bindings_get_their_subjects_back_and_their_role() {
        let expected = one("bind b to group g to account n/a\n");
        let mut others = expected.clone();
        others["subjects"] =
            json!([{"kind": "User", "name": "ann"}, {"kind": "Group", "name": "g"}]);
        let mut completed = others.clone();
        completed["subjects"]
            .as_array_mut()
            .unwrap()
            .push(expected["subjects"][1].clone());
        let mut elsewhere = expected.clone();
        elsewhere["roleRef"]["name"] = json!("other");
        for (existing, step_expected) in [
            (&expected, Step::Keep),
            (&others, Step::Update(completed)),
            (&elsewhere, Step::Replace(expected.clone())),
        ] {
            assert_eq!(
                step(Some(existing), &expected, Additions::Stay),
                step_expected
            );
        }
    }
}
