//! Runs the cases under `cases/`; their form is described on the crate's page.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use api::{
    manifest::{JobLifetime, prune},
    work::v1alpha2::AggregatedStatusItem,
};
use karavel_interpret::{
    InterpretError, Interpreter, KindRef, Layer, Layers, Native, Operation, Options, RuleError,
    ThirdParty,
};
use object::{Object, Value, patch};
use serde_json::json;

/// One entry of a file.
struct Case {
    /// Folder, file and claim: what a failure is reported under.
    name: String,
    folder: String,
    object: Object,
    observed: Option<Object>,
    members: Vec<AggregatedStatusItem>,
    options: Options,
    expect: Vec<(String, Value)>,
}

#[test]
fn every_case_holds() {
    let cases = read_cases();
    let mut failures = Vec::new();
    for case in &cases {
        for (operation, expected) in &case.expect {
            let found = case.run(operation, expected);
            if found != *expected {
                failures.push(format!(
                    "{} / {operation}\n  expected {expected}\n  found    {found}",
                    case.name
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases.len() > 300, "only {} cases were found", cases.len());
}

#[test]
fn every_rule_has_a_case() {
    let interpreter = Interpreter::default();
    let shown: BTreeSet<(String, &'static str)> = read_cases()
        .iter()
        .flat_map(|case| {
            let kind = KindRef::of(&case.object).to_string();
            let successes = case.expect.iter().filter(|(_, value)| !is_error(value));
            let operations = successes.filter_map(|(name, _)| operation_of(name));
            operations
                .map(move |operation| (kind.clone(), operation.as_str()))
                .collect::<Vec<_>>()
        })
        .collect();
    let mut missing = Vec::new();
    let kinds = [
        (Layer::Native, Native::kinds().collect::<Vec<_>>()),
        (Layer::ThirdParty, ThirdParty::kinds().collect()),
    ];
    let kinds = kinds
        .iter()
        .flat_map(|(layer, kinds)| kinds.iter().map(|kind| (*layer, *kind)));
    for (layer, kind) in kinds {
        for operation in Operation::ALL {
            let is_covered = interpreter.layer(kind, operation) == Some(layer);
            if is_covered && !shown.contains(&(kind.to_string(), operation.as_str())) {
                missing.push(format!("{operation} of {kind}"));
            }
        }
    }
    assert!(missing.is_empty(), "no case for:\n{}", missing.join("\n"));
}

#[test]
fn cases_lie_in_the_folder_of_their_kind_and_make_different_claims() {
    let mut claims = BTreeSet::new();
    for case in read_cases() {
        let kind = case.object.kind().to_lowercase();
        assert!(
            case.folder == kind || case.folder == "any",
            "{} is about a {kind}",
            case.name
        );
        assert!(claims.insert(case.name.clone()), "twice: {}", case.name);
        assert!(!case.expect.is_empty(), "nothing expected: {}", case.name);
    }
}

impl Case {
    /// What came of the operation, in the form that a case gives what it expects.
    fn run(&self, operation: &str, expected: &Value) -> Value {
        let interpreter = Interpreter::new(Layers::default(), self.options);
        let result = match operation {
            "replicas" => interpreter.replicas(&self.object).map(
                |answer| json!({"replicas": answer.replicas, "requirements": answer.requirements}),
            ),
            "components" => interpreter.components(&self.object).map(|list| json!(list)),
            "revise" => {
                // A revision that fails does so whatever the number.
                let to = expected["to"].as_i64().unwrap_or(1);
                let to = i32::try_from(to).expect("replicas have 32 bits");
                let revised = interpreter.revise(&self.object, to);
                revised.map(|revised| json!({"to": to, "changes": self.changes(revised)}))
            }
            "retain" => interpreter
                .retain(self.object.clone(), self.observed())
                .map(|retained| self.changes(retained)),
            "retain_all" => interpreter
                .retain_all(&self.object, self.observed())
                .map(|retained| self.changes(retained)),
            "prune" => return self.pruned(JobLifetime::Dropped),
            "prune_keeping_ttl" => return self.pruned(JobLifetime::Kept),
            "aggregate" => interpreter
                .aggregate(&self.object, &self.members)
                .map(|status| status.unwrap_or(json!("unchanged"))),
            "reflect" => interpreter
                .reflect(&self.object)
                .map(|status| status.unwrap_or_default()),
            "health" => interpreter.health(&self.object).map(|health| json!(health)),
            "dependencies" => interpreter
                .dependencies(&self.object)
                .map(|references| json!(references)),
            other => panic!("{}: there is no operation {other}", self.name),
        };
        result.unwrap_or_else(|error| match error {
            InterpretError::Rule { source, .. } => error_value(&source),
            other => json!({"error": other.to_string()}),
        })
    }

    fn observed(&self) -> &Object {
        self.observed.as_ref().expect("retain needs `observed`")
    }

    fn pruned(&self, lifetime: JobLifetime) -> Value {
        let pruned = prune(self.object.clone(), lifetime);
        let again = prune(pruned.clone(), lifetime);
        assert_eq!(again, pruned, "{}: pruning twice", self.name);
        self.changes(pruned)
    }

    fn changes(&self, after: Object) -> Value {
        let before = self.object.clone().into_value();
        patch::diff(&before, &after.into_value())
    }
}

fn error_value(error: &RuleError) -> Value {
    json!({"error": error.to_string()})
}

fn is_error(expected: &Value) -> bool {
    expected.get("error").is_some()
}

fn operation_of(name: &str) -> Option<Operation> {
    Some(match name {
        "replicas" => Operation::InterpretReplica,
        "components" => Operation::InterpretComponent,
        "revise" => Operation::ReviseReplica,
        "retain" => Operation::Retain,
        "aggregate" => Operation::AggregateStatus,
        "reflect" => Operation::InterpretStatus,
        "health" => Operation::InterpretHealth,
        "dependencies" => Operation::InterpretDependency,
        _ => return None,
    })
}

fn read_cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases = Vec::new();
    for folder in entries(&root) {
        for file in entries(&folder) {
            let text = read(&file);
            let list: Vec<Value> = serde_saphyr::from_str(&text)
                .unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
            let folder = last(&folder);
            let file = last(&file);
            cases.extend(list.into_iter().map(|entry| case(&folder, &file, entry)));
        }
    }
    cases
}

fn case(folder: &str, file: &str, entry: Value) -> Case {
    const KEYS: [&str; 6] = ["claim", "object", "observed", "members", "quota", "expect"];
    let claim = entry["claim"].as_str().expect("a case makes a claim");
    let name = format!("{folder}/{file}: {claim}");
    for key in entry.as_object().expect("a case is an object").keys() {
        assert!(KEYS.contains(&key.as_str()), "{name}: what is {key}?");
    }
    let object = |key: &str| {
        let value = entry.get(key)?.clone();
        Some(Object::from_value(value).expect("objects are objects"))
    };
    let members = entry.get("members").and_then(Value::as_object);
    let members = members
        .into_iter()
        .flatten()
        .map(|(cluster, status)| AggregatedStatusItem {
            cluster_name: cluster.clone(),
            status: Some(status.clone()).filter(|status| !status.is_null()),
            applied: true,
            ..AggregatedStatusItem::default()
        });
    let expect = entry["expect"]
        .as_object()
        .expect("a case expects something");
    Case {
        folder: folder.to_owned(),
        object: object("object").unwrap_or_else(|| panic!("{name}: has no object")),
        observed: object("observed"),
        members: members.collect(),
        options: Options {
            resource_quota_estimate: entry["quota"].as_bool().unwrap_or_default(),
        },
        expect: expect.clone().into_iter().collect(),
        name,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "cases are files, so that adding one needs no code"
)]
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of cases can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("entries can be read").path())
        .collect();
    paths.sort();
    paths
}

#[expect(
    clippy::disallowed_methods,
    reason = "cases are files, so that adding one needs no code"
)]
fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("cases can be read")
}

fn last(path: &Path) -> String {
    let name = path.file_name().expect("entries have names");
    name.to_string_lossy().into_owned()
}
