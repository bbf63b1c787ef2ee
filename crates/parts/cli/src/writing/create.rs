//! New objects, as files and words say them.

use client::Client;

use super::edit::{HEAD, uncommented};
use super::generate::generate_here;
use super::mentions::note_slips;
use super::{DryRun, Writing, discover, last_applied};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reading::{self, Answer, Sink, blame_places};
use crate::schema::write_failure;

/// How objects are created.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// What all writes share.
    pub writing: Writing,
    /// Note what the objects say as kubectl does, for its next `apply`.
    pub save_config: bool,
    /// The objects are made of words: what only the kubeconfig says of their namespace is not printed.
    pub is_of_words: bool,
}

/// Creates objects, one after the other; one that is refused does not keep the others back.
pub async fn create(
    control: &Client,
    manifests: &[Manifest],
    options: &CreateOptions,
    print: Sink<'_>,
) -> Result<Answer, Failure> {
    let writing = &options.writing;
    let discovery = discover(control).await?;
    let home = writing.home(control);
    let (mut failures, mut printed) = (Vec::new(), 0);
    for manifest in manifests {
        let created = async {
            let (resource, mut object) = manifest.locate(&discovery, &home)?;
            if options.is_of_words && writing.dry_run == DryRun::Client && !home.is_asked_for {
                // What is printed is for whichever namespace it will be applied in.
                object.remove(&["metadata", "namespace"]);
            }
            if options.save_config {
                last_applied::note(&mut object)?;
            }
            let made = match writing.dry_run {
                DryRun::Client => Ok(object),
                _ => {
                    let options = writing.strict_options();
                    control.create(&resource, &object, &options).await
                }
            };
            let made = match made {
                Ok(made) => made,
                Err(error) => return Err(write_failure(control, &resource, &error).await),
            };
            let said = writing.say(&resource, &made, "created")?;
            print(&format!("{}{said}", writing.separator(printed)))?;
            printed += 1;
            Ok(())
        };
        if let Err(failure) = created.await {
            failures.push((manifest.place.clone(), failure));
        }
    }
    Ok(Answer {
        failure: blame_places(failures),
        notes: note_slips(control, manifests).await,
        ..Answer::default()
    })
}

/// What a dry run at the client says of words that nobody has to be asked about: then no control plane is needed, nor a
/// kubeconfig. `None` if somebody has to be asked.
pub fn create_here(
    words: (&str, &str),
    pairs: &[(String, String)],
    options: &CreateOptions,
) -> Result<Option<String>, Failure> {
    let writing = &options.writing;
    if writing.dry_run != DryRun::Client {
        return Ok(None);
    }
    let Some((resource, mut object)) = generate_here(words, pairs)? else {
        return Ok(None);
    };
    let asked = writing.namespace.as_deref();
    if let Some(namespace) = asked.filter(|asked| resource.namespaced && !asked.is_empty()) {
        let set = object.set(&["metadata", "namespace"], namespace);
        set.map_err(|error| Failure::refused(error.to_string(), "correct the flags"))?;
    }
    if options.save_config {
        last_applied::note(&mut object)?;
    }
    writing.say(&resource, &object, "created").map(Some)
}

/// Lets `change` alter objects before they are created; `None` if it leaves them as they are, or none.
pub fn edit_first(
    manifests: &[Manifest],
    change: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<Option<Vec<Manifest>>, Failure> {
    let mut texts = Vec::new();
    for manifest in manifests {
        let value = manifest.object.clone().into_value();
        texts.push(reading::write_document(&value, true)?);
    }
    let text = texts.join("---\n");
    let changed = uncommented(&change(&format!("{HEAD}{text}"))?);
    if changed.trim().is_empty() || changed == uncommented(&text) {
        return Ok(None);
    }
    Manifest::parse("the edited text", &changed).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_without_a_control_plane() {
        let pairs = |text: &str| -> Vec<(String, String)> {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        };
        let options = |namespace: &str, dry_run: DryRun| CreateOptions {
            writing: Writing {
                namespace: Some(namespace.to_owned()),
                dry_run,
                output: Some(reading::Output::parse("jsonpath={.kind} {.metadata}").unwrap()),
                ..Writing::default()
            },
            ..CreateOptions::default()
        };
        for (kind, flags, namespace, dry_run, expected) in [
            (
                "configmap",
                "from-literal=a=b",
                "",
                DryRun::Client,
                Some("ConfigMap {\"name\":\"x\"}"),
            ),
            (
                "configmap",
                "from-literal=a=b",
                "shop",
                DryRun::Client,
                Some("ConfigMap {\"name\":\"x\",\"namespace\":\"shop\"}"),
            ),
            (
                "namespace",
                "",
                "shop",
                DryRun::Client,
                Some("Namespace {\"name\":\"x\"}"),
            ),
            ("configmap", "from-literal=a=b", "", DryRun::Server, None),
            ("configmap", "from-literal=a=b", "", DryRun::No, None),
            ("role", "verb=get resource=pods", "", DryRun::Client, None),
            ("job", "from=cronjob/nightly", "", DryRun::Client, None),
        ] {
            let options = options(namespace, dry_run);
            let found = create_here((kind, "x"), &pairs(flags), &options).unwrap();
            assert_eq!(found.as_deref(), expected, "{kind} {flags}");
        }
        let wrong = create_here(("deployment", "x"), &[], &options("", DryRun::Client));
        assert!(wrong.unwrap_err().to_string().contains("\"image\" not set"));
    }

    #[test]
    fn objects_are_edited_before_they_are_created() {
        let all = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}";
        let all = Manifest::parse("f", all).unwrap();
        let names = |change: &dyn Fn(&str) -> String| {
            let edited = edit_first(&all, |text| Ok(change(text))).unwrap()?;
            let names = edited.iter().map(|found| found.object.name().to_owned());
            Some(names.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&|text| text.to_owned()), None);
        assert_eq!(names(&|text| format!("{text}# a remark\n")), None);
        assert_eq!(names(&|_| "# nothing\n".to_owned()), None);
        let renamed = names(&|text| text.replace("name: b", "name: c"));
        assert_eq!(renamed.as_deref(), Some("a c"));
        assert!(edit_first(&all, |_| Ok("a: [".to_owned())).is_err());
    }
}
