//! The multi-cluster kinds as CustomResourceDefinitions.

use api::registry::RESOURCES;
use object::Value;

use crate::failure::Failure;
use crate::nearest::nearest;

/// How values are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A stream of documents.
    Yaml,
    /// One list.
    Json,
}

/// The definitions as text. `name` picks one, by its full name, its plural or a short name.
pub fn crds(name: Option<&str>, format: Format) -> Result<String, Failure> {
    let all = api::schema::crds();
    let chosen: Vec<&Value> = all
        .iter()
        .filter(|definition| is_called(definition, name))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = all
            .iter()
            .filter_map(|definition| definition["spec"]["names"]["plural"].as_str())
            .collect();
        let name = name.unwrap_or_default();
        let served = RESOURCES
            .iter()
            .any(|resource| resource.plural == name || resource.kind.eq_ignore_ascii_case(name));
        let what = if served {
            format!("{name} has no definition: the server serves it without one")
        } else {
            format!("no definition is called {name:?}")
        };
        let words = all.iter().flat_map(words);
        let meant = nearest(&name.to_lowercase(), words).filter(|_| !served);
        let meant = meant.map(|near| format!("did you mean {near:?}? "));
        return Err(Failure::refused(
            what,
            format!(
                "{}choose one of: {}",
                meant.unwrap_or_default(),
                known.join(", ")
            ),
        ));
    }
    match format {
        Format::Json => {
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": chosen});
            serde_json::to_string_pretty(&list)
                .map(|text| text + "\n")
                .map_err(unprintable)
        }
        Format::Yaml => {
            let documents: Result<Vec<String>, Failure> = chosen
                .iter()
                .map(|definition| serde_saphyr::to_string(definition).map_err(unprintable))
                .collect();
            Ok(documents?
                .iter()
                .map(|document| format!("---\n{}\n", document.trim_end()))
                .collect())
        }
    }
}

/// What a definition may be called by, and is mistyped as.
fn words(definition: &Value) -> impl Iterator<Item = &str> {
    let names = &definition["spec"]["names"];
    let all = [
        &names["plural"],
        &names["singular"],
        &definition["metadata"]["name"],
    ];
    all.into_iter().filter_map(Value::as_str)
}

fn is_called(definition: &Value, name: Option<&str>) -> bool {
    let Some(name) = name else { return true };
    let names = &definition["spec"]["names"];
    let short = names["shortNames"].as_array();
    definition["metadata"]["name"] == name
        || names["plural"] == name
        || names["kind"]
            .as_str()
            .is_some_and(|kind| kind.eq_ignore_ascii_case(name))
        || short.is_some_and(|names| names.iter().any(|short| short == name))
}

fn unprintable(error: impl std::fmt::Display) -> Failure {
    Failure::failed(
        format!("the definitions cannot be printed: {error}"),
        "this is a defect; please report it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_as_what_was_meant() {
        let text = crds(None, Format::Yaml).unwrap();
        let documents: Vec<&str> = text
            .split("---\n")
            .filter(|document| !document.is_empty())
            .collect();
        let expected = api::schema::crds();
        assert_eq!(documents.len(), expected.len());
        for (document, expected) in documents.iter().zip(&expected) {
            let read: Value = serde_saphyr::from_str(document).unwrap();
            assert_eq!(&read, expected);
        }
        let list: Value = serde_json::from_str(&crds(None, Format::Json).unwrap()).unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), expected.len());
    }

    #[test]
    fn one_can_be_picked_and_an_unknown_one_is_answered_with_the_known() {
        for name in ["works", "works.work.karmada.io", "wk", "work"] {
            assert!(
                crds(Some(name), Format::Yaml)
                    .unwrap()
                    .contains("name: works.work.karmada.io")
            );
        }
        let refusal = crds(Some("wroks"), Format::Yaml).unwrap_err();
        assert_eq!(refusal.exit_code(), 1);
        assert!(
            refusal
                .hint()
                .starts_with("did you mean \"works\"? choose one of: ")
        );
        let hint = |name| {
            crds(Some(name), Format::Yaml)
                .unwrap_err()
                .hint()
                .to_owned()
        };
        assert!(hint("propagationpolices").starts_with("did you mean \"propagationpolicies\"?"));
        assert!(hint("unicorns").starts_with("choose one of: "));
    }
}
