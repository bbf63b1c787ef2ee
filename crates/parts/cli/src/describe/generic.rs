//! An object written out: names first, then everything it says, field by field.

use object::Object;
use serde_json::Value;

use super::Facts;
use super::parts::happened;
use super::parts::metadata::LAST_APPLIED;
use super::sheet::Sheet;
use crate::reading::clean;

/// Fields of the metadata that are shown at the top, or that nobody wants to read.
const METADATA: [&str; 6] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "managedFields",
    "creationTimestamp",
];
/// Where values at the top begin.
const VALUES: usize = 14;
/// A value longer than this is cut: whoever needs all of it asks for YAML.
const LONGEST: usize = 400;

/// Fields whose entries are called by users, or by whoever names resources: they stay as they are written.
const WORDS: [&str; 18] = [
    "data",
    "binaryData",
    "stringData",
    "labels",
    "annotations",
    "matchLabels",
    "nodeSelector",
    "parameters",
    "properties",
    "limits",
    "requests",
    "capacity",
    "allocatable",
    "allocated",
    "allocating",
    "hard",
    "used",
    "overall",
];
/// The same if all entries are text: otherwise they are fields, such as those of a selector with expressions.
const TEXTS: [&str; 2] = ["selector", "value"];

/// The page about an object of any kind.
pub(super) fn page(facts: &Facts<'_>) -> String {
    let mut page = write(facts.object, facts.cluster);
    let mut sheet = Sheet::default();
    happened::write(&mut sheet, facts);
    let events = sheet.finish();
    match events.split_once("  ") {
        // One line stands below the names above.
        Some((title, said)) if title == "Events:" => {
            page.push_str(&format!("{title:VALUES$}{said}"));
        }
        _ => page.push_str(&events),
    }
    page
}

fn write(object: &Object, cluster: Option<&str>) -> String {
    let mut page = String::new();
    let mut top = |name: &str, value: &str| {
        page.push_str(&format!("{:VALUES$}{}\n", format!("{name}:"), clean(value)));
    };
    top("Name", object.name());
    if !object.namespace().is_empty() {
        top("Namespace", object.namespace());
    }
    if let Some(cluster) = cluster {
        top("Cluster", cluster);
    }
    let shown = |(key, value): (&str, &str), sign: &str| format!("{key}{sign}{value}");
    let labels: Vec<String> = object
        .labels()
        .into_iter()
        .map(|pair| shown(pair, "="))
        .collect();
    let annotations: Vec<String> = object
        .annotations()
        .into_iter()
        .filter(|(key, _)| *key != LAST_APPLIED)
        .map(|pair| shown(pair, ": "))
        .collect();
    for (name, lines) in [("Labels", labels), ("Annotations", annotations)] {
        let mut lines = lines.iter();
        top(
            name,
            &lines
                .next()
                .map_or_else(|| "<none>".to_owned(), |line| cut(line)),
        );
        for line in lines {
            top("", &cut(line));
        }
    }
    let mut page = page.replace("\n:             ", "\n              ");
    page.push_str(&format!(
        "{:VALUES$}{}\n",
        "API Version:",
        clean(object.api_version())
    ));
    page.push_str(&format!("{:VALUES$}{}\n", "Kind:", clean(object.kind())));
    if let Some(created) = object.text_at(&["metadata", "creationTimestamp"]) {
        page.push_str(&format!("{:VALUES$}{}\n", "Created:", clean(created)));
    }
    if let Some(Value::Object(metadata)) = object.at(&["metadata"]) {
        let rest: Vec<(&String, &Value)> = metadata
            .iter()
            .filter(|(name, _)| !METADATA.contains(&name.as_str()))
            .collect();
        if !rest.is_empty() {
            page.push_str("Metadata:\n");
            rest.into_iter()
                .for_each(|(name, value)| named_field(&mut page, 2, name, value));
        }
    }
    for (name, value) in object.fields() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            let value = match (object.kind(), name.as_str()) {
                // Secrets are for those who ask for them by name, not for whoever looks over a shoulder.
                ("Secret", "data" | "stringData") => &sizes(value),
                _ => value,
            };
            named_field(&mut page, 0, name, value);
        }
    }
    page
}

/// How large each entry is, instead of what it is.
fn sizes(data: &Value) -> Value {
    let entries = data.as_object().into_iter().flatten().map(|(key, value)| {
        // Four characters of base64 are three bytes.
        let bytes = value
            .as_str()
            .unwrap_or_default()
            .trim_end_matches('=')
            .len()
            * 3
            / 4;
        (key.clone(), Value::from(format!("{bytes} bytes")))
    });
    Value::Object(entries.collect())
}

/// A field as it is called in words.
fn named_field(page: &mut String, indent: usize, name: &str, value: &Value) {
    field(page, indent, &title(name), are_words(name, value), value);
}

/// Whether the entries of a field are somebody's words, and no fields.
fn are_words(name: &str, value: &Value) -> bool {
    let is_text = |fields: &object::Map| fields.values().all(Value::is_string);
    WORDS.contains(&name) || (TEXTS.contains(&name) && value.as_object().is_some_and(is_text))
}

/// A field or entry under the title it has, and what it says; `words` if its entries stay as they are written.
fn field(page: &mut String, indent: usize, title: &str, words: bool, value: &Value) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if fields.is_empty() => {
            page.push_str(&format!("{pad}{title}:  {{}}\n"))
        }
        Value::Object(fields) => {
            page.push_str(&format!("{pad}{title}:\n"));
            for (name, value) in fields {
                match words {
                    true => field(page, indent + 2, &clean(name), false, value),
                    false => named_field(page, indent + 2, name, value),
                }
            }
        }
        Value::Array(items) if items.is_empty() => page.push_str(&format!("{pad}{title}:  []\n")),
        Value::Array(items) => {
            page.push_str(&format!("{pad}{title}:\n"));
            for item in items {
                element(page, indent + 2, item);
            }
        }
        Value::String(text) if text.contains('\n') => {
            page.push_str(&format!("{pad}{title}:\n"));
            for line in text.lines() {
                page.push_str(&format!("{pad}  {}\n", cut(&clean(line))));
            }
        }
        value => page.push_str(&format!("{pad}{title}:  {}\n", plain(value))),
    }
}

/// One of a list: a dash before its first line.
fn element(page: &mut String, indent: usize, item: &Value) {
    let mut lines = String::new();
    match item {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                named_field(&mut lines, indent + 2, name, value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                element(&mut lines, indent + 2, item);
            }
        }
        value => lines.push_str(&format!("{}{}\n", " ".repeat(indent + 2), plain(value))),
    }
    let body = lines.get(indent + 2..).unwrap_or_default();
    page.push_str(&format!("{}- {body}", " ".repeat(indent)));
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => cut(&clean(text)),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A field's name as words: `replicaScheduling` is `Replica Scheduling`. A name with other signs stays as it is.
fn title(name: &str) -> String {
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        return clean(name);
    }
    let mut title = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if title.is_empty() {
            title.extend(letter.to_uppercase());
        } else {
            if letter.is_ascii_uppercase() && was_lower {
                title.push(' ');
            }
            title.push(letter);
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    title
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_shows_everything_an_object_says() {
        let object = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {
                "name": "p", "namespace": "shop", "uid": "u", "labels": {"a": "1", "b": "2"},
                "annotations": {LAST_APPLIED: "{}"}, "managedFields": [{}],
            },
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}, "odd"],
                "placement": {"clusterAffinity": {}, "list": [], "text": "one\ntwo\u{1b}"},
                "empty": null,
            },
        });
        let page = write(&Object::from_value(object).unwrap(), Some("east"));
        assert_eq!(
            page,
            "Name:         p
Namespace:    shop
Cluster:      east
Labels:       a=1
              b=2
Annotations:  <none>
API Version:  policy.karmada.io/v1alpha1
Kind:         PropagationPolicy
Metadata:
  Uid:  u
Spec:
  Resource Selectors:
    - Api Version:  apps/v1
      Kind:  Deployment
    - odd
  Placement:
    Cluster Affinity:  {}
    List:  []
    Text:
      one
      two\\u{1b}
  Empty:  <none>
"
        );
    }

    #[test]
    fn the_words_of_users_stay_as_they_are_written() {
        for (kind, fields, expected) in [
            (
                "ConfigMap",
                json!({"data": {"fooBar": "1", "a": "x\ny"}, "binaryData": {"logoPng": "aa"}}),
                "Data:\n  fooBar:  1\n  a:\n    x\n    y\nBinary Data:\n  logoPng:  aa\n",
            ),
            (
                "Service",
                json!({"spec": {"clusterIP": "x", "selector": {"appName": "web"}}}),
                "Spec:\n  Cluster IP:  x\n  Selector:\n    appName:  web\n",
            ),
            (
                "Deployment",
                json!({"spec": {
                    "selector": {"matchLabels": {"appName": "web"}},
                    "template": {
                        "metadata": {"labels": {"appName": "web"}, "annotations": {"madeBy": "me"}},
                        "spec": {
                            "nodeSelector": {"diskType": "ssd"},
                            "containers": [{"resources": {"limits": {"cpu": "1"}}}],
                        },
                    },
                }}),
                "Spec:
  Selector:
    Match Labels:
      appName:  web
  Template:
    Metadata:
      Labels:
        appName:  web
      Annotations:
        madeBy:  me
    Spec:
      Node Selector:
        diskType:  ssd
      Containers:
        - Resources:
            Limits:
              cpu:  1
",
            ),
        ] {
            let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "n"}});
            let whole = object.as_object_mut().unwrap();
            whole.extend(fields.as_object().unwrap().clone());
            let page = write(&Object::from_value(object).unwrap(), None);
            assert!(page.ends_with(expected), "{page}");
        }
    }

    #[test]
    fn secrets_show_their_sizes() {
        let object =
            json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"token": "c2VjcmV0"}});
        let page = write(&Object::from_value(object).unwrap(), None);
        assert!(page.contains("Data:\n  token:  6 bytes"), "{page}");
        assert!(!page.contains("c2VjcmV0"));
    }
}
