//! An explanation for people, in 80 columns.

use serde_json::Value;

use crate::reading::clean;

/// How wide a terminal is at least.
const WIDTH: usize = 80;
/// Where what is said about a thing begins, behind what the thing is called.
const INDENT: usize = 12;

/// Writes what [`super::facts::tell`] has told.
pub(super) fn write(told: &Value) -> String {
    let mut page = Page::default();
    let template = &told["template"];
    page.line(
        text(&template["kind"]),
        &format!(
            "{} ({}, generation {})",
            full_name(template),
            text(&template["apiVersion"]),
            template["generation"]
        ),
    );
    let policy = &told["policy"];
    match policy.is_null() {
        true => page.line("Policy", "none has claimed it"),
        false => {
            let name = full_name(policy);
            page.line("Policy", format!("{} {name}", text(&policy["kind"])).trim());
        }
    }
    let binding = &told["binding"];
    if binding.is_null() {
        page.line("Binding", "none");
        return page.text;
    }
    let mut about = format!("{} {}", text(&binding["kind"]), full_name(binding));
    if let Some(replicas) = binding["replicas"].as_i64() {
        about.push_str(&format!(", {}", count(replicas)));
    }
    page.line("Binding", &about);
    if binding["generation"] != binding["schedulerObservedGeneration"] {
        page.line("", "the scheduler has not looked at its newest state yet");
    }
    page.conditions(&binding["conditions"]);
    let clusters = items(&told["clusters"]);
    if clusters.is_empty() {
        page.line("Clusters", "none");
    }
    for cluster in clusters {
        page.cluster(cluster);
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn cluster(&mut self, cluster: &Value) {
        self.text.push('\n');
        let target = match (cluster["target"].as_bool(), cluster["replicas"].as_i64()) {
            (Some(true), Some(replicas)) => count(replicas),
            (Some(true), None) => "chosen".to_owned(),
            _ => "not chosen any more".to_owned(),
        };
        let health = cluster["health"].as_str();
        let health = health.map_or_else(String::new, |health| format!(", {health}"));
        let name = text(&cluster["name"]);
        if name.chars().count() < INDENT {
            self.line(name, &format!("{target}{health}"));
        } else {
            self.wrapped(0, "", name);
            self.line("", &format!("{target}{health}"));
        }
        let works = items(&cluster["works"]);
        if works.is_empty() {
            self.line("", "no Work");
        }
        for work in works {
            self.line("", &format!("Work {}", full_name(work)));
            self.conditions(&work["conditions"]);
        }
        if let Some(message) = cluster["appliedMessage"].as_str() {
            self.line("", message);
        }
        if let Value::Object(fields) = &cluster["status"] {
            let plain = fields
                .iter()
                .filter(|(_, value)| !value.is_object() && !value.is_array());
            let said: Vec<String> = plain
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            self.line("", &said.join(" "));
        }
    }

    fn conditions(&mut self, conditions: &Value) {
        for condition in items(conditions) {
            let said = format!(
                "{} {} ({}): {}",
                text(&condition["type"]),
                text(&condition["status"]),
                text(&condition["reason"]),
                text(&condition["message"]),
            );
            self.line("", said.trim_end_matches([':', ' ']));
        }
    }

    /// A thing and what is said about it.
    fn line(&mut self, name: &str, said: &str) {
        if !said.is_empty() {
            self.wrapped(INDENT, name, said);
        }
    }

    /// Broken between words; a word too long for a line is broken anywhere.
    fn wrapped(&mut self, indent: usize, name: &str, said: &str) {
        // A name too long for its column has a line of its own.
        let mut line: String = name.to_owned();
        if indent > 0 && name.chars().count() >= indent {
            self.text.push_str(name);
            self.text.push('\n');
            line.clear();
        }
        let room = WIDTH - indent;
        let mut taken = 0;
        let pad = |line: &mut String| {
            let missing = indent.saturating_sub(line.chars().count());
            line.extend(std::iter::repeat_n(' ', missing));
        };
        pad(&mut line);
        // Line ends are spaces here; what else could steer the terminal is made harmless.
        for word in said.split_whitespace().map(clean) {
            let letters: Vec<char> = word.chars().collect();
            for piece in letters.chunks(room) {
                if taken > 0 && taken + 1 + piece.len() > room {
                    self.text.push_str(line.trim_end());
                    self.text.push('\n');
                    line.clear();
                    pad(&mut line);
                    taken = 0;
                }
                if taken > 0 {
                    line.push(' ');
                    taken += 1;
                }
                line.extend(piece);
                taken += piece.len();
            }
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

fn count(replicas: i64) -> String {
    match replicas {
        1 => "1 replica".to_owned(),
        _ => format!("{replicas} replicas"),
    }
}

fn full_name(thing: &Value) -> String {
    let name = text(&thing["name"]);
    match text(&thing["namespace"]) {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use object::Object;
    use serde_json::json;

    use super::*;
    use crate::explain::facts::{Facts, tell};

    fn check(template: Value, binding: Option<Value>, works: Vec<Value>, expected: &str) {
        let object = |value| Object::from_value(value).unwrap();
        let works: Vec<Object> = works.into_iter().map(object).collect();
        let binding = binding.map(object);
        let told = tell(&Facts {
            template: &object(template),
            binding: binding.as_ref(),
            works: &works,
        });
        let page = write(&told);
        assert_eq!(page.trim_end(), expected.trim());
        assert!(page.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_template_nobody_claims_says_so() {
        check(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}),
            None,
            vec![],
            "
ConfigMap   shop/a (v1, generation 0)
Policy      none has claimed it
Binding     none",
        );
    }

    #[test]
    fn every_cluster_says_what_became_of_it() {
        let condition = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "reason": "Why", "message": message});
        check(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
                "name": "web", "namespace": "shop", "generation": 3,
                "annotations": {"propagationpolicy.karmada.io/name": "p", "propagationpolicy.karmada.io/namespace": "shop"},
            }}),
            Some(json!({
                "kind": "ResourceBinding",
                "metadata": {"name": "web-deployment", "namespace": "shop", "generation": 2},
                "spec": {"replicas": 3, "clusters": [{"name": "west", "replicas": 1}, {"name": "a-cluster-with-a-name", "replicas": 2}]},
                "status": {
                    "schedulerObservedGeneration": 1,
                    "conditions": [condition("Scheduled", "True", "")],
                    "aggregatedStatus": [{"clusterName": "west", "applied": true, "health": "Healthy", "status": {"replicas": 1, "conditions": []}}],
                },
            })),
            vec![
                json!({"metadata": {"name": "w", "namespace": "karmada-es-west"}, "status": {"conditions": [condition("Applied", "True", "fine")]}}),
                json!({"metadata": {"name": "w", "namespace": "karmada-es-old"}, "status": {"conditions": [condition("Applied", "False", &"long words ".repeat(9))]}}),
            ],
            "
Deployment  shop/web (apps/v1, generation 3)
Policy      PropagationPolicy shop/p
Binding     ResourceBinding shop/web-deployment, 3 replicas
            the scheduler has not looked at its newest state yet
            Scheduled True (Why)

a-cluster-with-a-name
            2 replicas
            no Work

old         not chosen any more
            Work karmada-es-old/w
            Applied False (Why): long words long words long words long words
            long words long words long words long words long words

west        1 replica, Healthy
            Work karmada-es-west/w
            Applied True (Why): fine
            replicas=1",
        );
    }

    #[test]
    fn no_word_is_too_long_for_the_page() {
        let mut page = Page::default();
        page.line("Name", &"x".repeat(150));
        page.line("a-name-longer-than-its-column", "y \u{1b}[2J");
        let expected = format!(
            "Name        {}\n            {}\n            {}\na-name-longer-than-its-column\n            y \\u{{1b}}[2J\n",
            "x".repeat(68),
            "x".repeat(68),
            "x".repeat(14)
        );
        assert_eq!(page.text, expected);
    }
}
