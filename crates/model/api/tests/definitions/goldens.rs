//! Recorded definitions and schemas, so that a change of a type shows what it changes for users.
//!
//! `UPDATE_GOLDENS=1 cargo nextest run -p karavel-api` records them anew.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use karavel_api::{
    registry::{Published, RESOURCES},
    schema,
};

#[test]
fn definitions_are_as_recorded() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("goldens");
    let mut expected = BTreeSet::new();
    for resource in RESOURCES {
        let form = match resource.published {
            Published::Definition | Published::PlainDefinition => "definition",
            // Recorded in the same form, although nobody publishes it.
            Published::Aggregated => "aggregated",
        };
        let name = format!("{}.{form}.json", resource.definition_name());
        let text = format!("{:#}\n", schema::definition(resource));
        let file = folder.join(&name);
        expected.insert(name);
        if env::var("UPDATE_GOLDENS").is_ok() {
            fs::write(&file, &text).expect("goldens can be written");
        }
        let recorded = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            recorded == text,
            "{} is out of date; run with UPDATE_GOLDENS=1 and look at the difference",
            file.display()
        );
    }
    let found: BTreeSet<String> = fs::read_dir(&folder)
        .expect("the folder of goldens exists")
        .map(|entry| {
            entry
                .expect("entries can be read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        found, expected,
        "a golden without a kind, or a kind without a golden"
    );
}

#[test]
fn the_list_of_definitions_is_stable_and_leaves_out_what_servers_of_their_own_publish() {
    let names: Vec<String> = schema::crds()
        .iter()
        .map(|crd| {
            crd["metadata"]["name"]
                .as_str()
                .expect("definitions have names")
                .to_owned()
        })
        .collect();
    assert_eq!(names.len(), 19);
    let group_first = |name: &String| {
        let (plural, group) = name.split_once('.').expect("plural and group");
        (group.to_owned(), plural.to_owned())
    };
    assert!(names.is_sorted_by_key(group_first));
    assert!(!names.iter().any(|name| name.starts_with("clusters.")));
    assert_eq!(schema::schemas().len(), 23);
}
