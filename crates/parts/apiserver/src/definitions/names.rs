//! The names that kinds go by: whoever has them keeps them, then whoever came first.

use std::collections::BTreeSet;

use object::Value;
use serve::resource::Table;

/// Why a kind is not served.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The reasons of the two conditions.
    pub(super) names: &'static str,
    pub(super) established: &'static str,
    /// What they say.
    pub(super) message: String,
    pub(super) shown: String,
    /// The names that are not accepted.
    pub(super) fields: Vec<&'static str>,
}

impl Refusal {
    pub(super) fn unserved(why: String) -> Self {
        Self {
            names: "NotServed",
            established: "NotServed",
            shown: why.clone(),
            message: why,
            fields: Vec::new(),
        }
    }
}

/// The names that kinds of each group go by.
#[derive(Default)]
pub(super) struct TakenNames {
    /// What URLs and people call them: group and name.
    resources: BTreeSet<(String, String)>,
    /// What objects and lists call themselves.
    kinds: BTreeSet<(String, String)>,
    /// Kinds that are served without definitions: group and plural.
    built_in: BTreeSet<(String, String)>,
}

impl TakenNames {
    /// What the kinds go by that are served without definitions. Upstream: only definitions are looked at. But a kind is
    /// found by the group and name that objects and owners give, and must not be somebody else's.
    pub(super) fn of(base: &Table) -> Self {
        let mut taken = Self::default();
        for known in base.iter() {
            let key = |name: &str| (known.group.to_string(), name.to_owned());
            let short = known.short_names.iter().map(|name| key(name));
            taken.resources.extend(short);
            taken.resources.insert(key(&known.singular));
            taken.resources.insert(key(&known.plural));
            taken.kinds.insert(key(&known.kind));
            taken.kinds.insert(key(&known.list_kind));
            taken.built_in.insert(key(&known.plural));
        }
        taken
    }

    /// Gives a kind its names, unless another one has some of them. Upstream: the last name that is taken is told.
    pub(super) fn claim(&mut self, definition: &Value) -> Result<(), Refusal> {
        let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
        let group = spec["group"].as_str().unwrap_or_default();
        let key = |name: &str| (group.to_owned(), name.to_owned());
        // It has no names but those of the kind that it describes once more, and takes none from others.
        let plural = names["plural"].as_str().unwrap_or_default();
        if self.built_in.contains(&key(plural)) {
            return Ok(());
        }
        let mut refusal: Option<Refusal> = None;
        let (mut resources, mut kinds) = (Vec::new(), Vec::new());
        for &(field, reason, is_resource) in NAMES {
            let given = match &names[field] {
                Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect::<Vec<&str>>(),
            };
            for name in given.into_iter().filter(|name| !name.is_empty()) {
                let (used, mine) = match is_resource {
                    true => (&self.resources, &mut resources),
                    false => (&self.kinds, &mut kinds),
                };
                if !used.contains(&key(name)) {
                    mine.push(key(name));
                    continue;
                }
                let told = refusal.get_or_insert_with(|| Refusal {
                    names: reason,
                    established: "NotAccepted",
                    message: String::new(),
                    shown: "not all names are accepted".to_owned(),
                    fields: Vec::new(),
                });
                told.names = reason;
                told.message = format!("{name:?} is already in use");
                told.fields.push(field);
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        self.resources.extend(resources);
        self.kinds.extend(kinds);
        Ok(())
    }
}

/// The names of a kind, what is said if they are taken, and whether they are those of a resource.
const NAMES: &[(&str, &str, bool)] = &[
    ("plural", "PluralConflict", true),
    ("singular", "SingularConflict", true),
    ("shortNames", "ShortNamesConflict", true),
    ("kind", "KindConflict", false),
    ("listKind", "ListKindConflict", false),
];

/// Definitions in the order in which they get their names: who has them keeps them, then whoever came first.
pub(super) fn in_turn(mut definitions: Vec<Value>) -> Vec<Value> {
    let is_established = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    let text = |definition: &Value, name: &str| {
        let text = definition["metadata"][name].as_str();
        text.unwrap_or_default().to_owned()
    };
    definitions.sort_by_cached_key(|definition| {
        (
            !is_established(definition),
            text(definition, "creationTimestamp"),
            text(definition, "name"),
        )
    });
    definitions
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_belong_to_whoever_has_them_or_came_first() {
        let definition = |name: &str, group: &str, names: Value, time: &str, established: &str| {
            json!({
                "metadata": {"name": name, "creationTimestamp": time}, "spec": {"group": group, "names": names},
                "status": {"conditions": [{"type": "Established", "status": established}]},
            })
        };
        let names = |plural: &str, kind: &str, short: &str| json!({"plural": plural, "kind": kind, "shortNames": [short]});
        let all = in_turn(vec![
            definition(
                "c",
                "a.io",
                names("cs", "A", "c"),
                "2026-01-01T00:00:00Z",
                "False",
            ),
            definition(
                "b",
                "a.io",
                names("bs", "B", "as"),
                "2026-01-02T00:00:00Z",
                "False",
            ),
            definition(
                "a",
                "a.io",
                names("as", "A", "a"),
                "2026-01-03T00:00:00Z",
                "True",
            ),
            definition(
                "d",
                "b.io",
                names("as", "A", "a"),
                "2026-01-04T00:00:00Z",
                "False",
            ),
        ]);
        let mut taken = TakenNames::default();
        let told: Vec<String> = all
            .iter()
            .map(|definition| {
                let name = definition["metadata"]["name"].as_str().unwrap();
                match taken.claim(definition) {
                    Ok(()) => format!("{name} has its names"),
                    Err(refusal) => format!("{name} {}: {}", refusal.names, refusal.message),
                }
            })
            .collect();
        assert_eq!(
            told,
            [
                "a has its names",
                "c KindConflict: \"A\" is already in use",
                "b ShortNamesConflict: \"as\" is already in use",
                "d has its names",
            ]
        );
    }
}
