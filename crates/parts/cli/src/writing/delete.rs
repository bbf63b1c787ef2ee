//! Taking objects away.

use std::collections::VecDeque;
use std::time::Duration;

use client::{CallError, Client, DeleteOptions, Deleted, ListOptions};
use intent::Propagation;
use object::{Object, ResourceType, Value};

use super::choice::Choice;
use super::policies::made_for;
use super::{DryRun, Writing, discover, kind_of, name_of};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::nearest::{Whose, missing, note_absent_space};
use crate::reach::call_failure;
use crate::reading::{self, Answer, Output, Sink, Wanted, blame_objects};

/// Between two looks at an object that is going.
const LOOK: Duration = Duration::from_millis(100);

/// What is to go.
#[derive(Clone, Debug)]
pub struct DeleteQuery {
    /// `TYPE NAME...`, `TYPE/NAME...`; empty if files name the objects.
    pub words: Vec<String>,
    /// Objects from files.
    pub manifests: Vec<Manifest>,
    /// Those with these labels; empty for none.
    pub selector: String,
    /// Those with these fields; empty for none.
    pub field_selector: String,
    /// All of the type in the namespace.
    pub all: bool,
    /// In all namespaces.
    pub all_namespaces: bool,
    /// What all writes share.
    pub writing: Writing,
    /// What becomes of what it owns. Always said: left to itself, the server orphans what jobs and replication controllers
    /// own, so that they would run on in members.
    pub propagation: Propagation,
    /// How long it may take to end.
    pub grace_seconds: Option<u64>,
    /// Until it is gone.
    pub wait: bool,
    /// Give up waiting after this; never if absent.
    pub timeout: Option<Duration>,
    /// What is not there is no mistake.
    pub ignore_not_found: bool,
}

/// Asks whether to go on, after telling what is about to happen.
pub type Asking<'a> = &'a mut dyn FnMut(&str) -> Result<bool, Failure>;

/// Deletes objects, along with the policies that `apply` made for them, and waits until they are gone if asked to. Somebody
/// who is to be asked first says whether.
pub async fn delete(
    control: &Client,
    query: &DeleteQuery,
    print: Sink<'_>,
    ask: Option<Asking<'_>>,
) -> Result<Answer, Failure> {
    check(query)?;
    let Found {
        objects: found,
        mut failures,
        is_named,
    } = find(control, query).await?;
    let mut notes = Vec::new();
    // Upstream: the same words, on the same output. What is named and not there was told of, or was not to be.
    if found.is_empty() && failures.is_empty() && !is_named {
        print("No resources found\n")?;
        let here = [control.clone()];
        let space = match query.all_namespaces {
            true => String::new(),
            false => query.writing.namespace(control),
        };
        notes.extend(note_absent_space(&here, &space, Whose::ControlPlane).await);
    }
    if let Some(ask) = ask.filter(|_| !found.is_empty()) {
        let names = found.iter();
        let names: String = names
            .map(|(resource, object)| format!("{}\n", name_of(resource, object.name())))
            .collect();
        let what = format!(
            "You are about to delete the following {} resource(s):\n{names}",
            found.len()
        );
        if !ask(&what)? {
            print("deletion is cancelled\n")?;
            return Ok(Answer::default());
        }
    }
    let mut going: Vec<(ResourceType, Object)> = Vec::new();
    let mut left: VecDeque<(ResourceType, Object)> = found.into();
    while let Some((resource, object)) = left.pop_front() {
        match remove(control, query, &resource, &object, &mut *print).await {
            Ok(Removed::Not) => continue,
            Ok(Removed::Gone) => {}
            Ok(Removed::Ending) => going.push((resource.clone(), object.clone())),
            Err(failure) => {
                failures.push((object.key().to_string(), failure));
                continue;
            }
        }
        if let Some((kind, policy)) = made_for(control, &resource, &object).await
            && !left.iter().any(|(_, other)| other.uid() == policy.uid())
        {
            left.push_front((kind, policy));
        }
    }
    if query.wait {
        wait(control, going, query.timeout).await?;
    }
    Ok(Answer {
        failure: blame_objects(failures),
        notes,
        ..Answer::default()
    })
}

/// Upstream: nothing is left to be shown of what is deleted but its name.
fn check(query: &DeleteQuery) -> Result<(), Failure> {
    match query.writing.output {
        None | Some(Output::Table | Output::Name) => Ok(()),
        _ => Err(Failure::refused(
            "unexpected -o output mode: only '-o name' is supported",
            "write -o name or leave -o out; `karavel get` shows objects before they are deleted",
        )),
    }
}

/// What is said of an object that is deleted.
fn told(query: &DeleteQuery, resource: &ResourceType, object: &Object) -> String {
    if query.writing.output == Some(Output::Name) {
        return format!("{}\n", name_of(resource, object.name()));
    }
    format!(
        "{} {:?} deleted{}{}\n",
        kind_of(resource),
        object.name(),
        match object.namespace() {
            "" => String::new(),
            namespace => format!(" from {namespace} namespace"),
        },
        query.writing.dry_run.suffix()
    )
}

/// What became of an object.
enum Removed {
    /// Nothing was there.
    Not,
    /// It is gone, or would be.
    Gone,
    /// It goes once everybody has let go of it.
    Ending,
}

async fn remove(
    control: &Client,
    query: &DeleteQuery,
    resource: &ResourceType,
    object: &Object,
    print: Sink<'_>,
) -> Result<Removed, Failure> {
    let line = told(query, resource, object);
    if query.writing.dry_run == DryRun::Client {
        print(&line)?;
        return Ok(Removed::Gone);
    }
    let options = DeleteOptions {
        uid: Some(object.uid().to_owned()),
        propagation: Some(query.propagation),
        grace_seconds: query.grace_seconds,
        dry_run: query.writing.dry_run == DryRun::Server,
        ..DeleteOptions::default()
    };
    match control.delete(resource, &object.key(), &options).await {
        Ok(deleted) => {
            print(&line)?;
            let is_real = query.writing.dry_run == DryRun::No;
            Ok(match deleted {
                Deleted::Ending(_) if is_real => Removed::Ending,
                _ => Removed::Gone,
            })
        }
        Err(error) if error.is_not_found() && query.ignore_not_found => Ok(Removed::Not),
        Err(error) => Err(call_failure(&error)),
    }
}

async fn wait(
    control: &Client,
    going: Vec<(ResourceType, Object)>,
    timeout: Option<Duration>,
) -> Result<(), Failure> {
    let waiting = async {
        for (resource, object) in &going {
            loop {
                match control.get_metadata(resource, &object.key()).await {
                    // One of the same name that came after it is another.
                    Ok(found) if found.uid() == object.uid() => tokio::time::sleep(LOOK).await,
                    Ok(_) => break,
                    Err(error) if error.is_not_found() => break,
                    Err(error) => return Err(call_failure(&error)),
                }
            }
        }
        Ok(())
    };
    let Some(timeout) = timeout else {
        return waiting.await;
    };
    match tokio::time::timeout(timeout, waiting).await {
        Ok(ended) => ended,
        Err(_) => {
            let names: Vec<String> = going
                .iter()
                .map(|(_, object)| object.key().to_string())
                .collect();
            Err(Failure::failed(
                format!("timed out waiting for {}", names.join(", ")),
                "something holds them: look at metadata.finalizers with -o yaml",
            ))
        }
    }
}

fn has_controller(object: &Object) -> bool {
    let owners = object.at(&["metadata", "ownerReferences"]);
    let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
    owners.any(|owner| owner["controller"] == true)
}

/// What is to go, and what could not be found.
struct Found {
    objects: Vec<(ResourceType, Object)>,
    failures: Vec<(String, Failure)>,
    /// Whether anything was named, by a word or in a file.
    is_named: bool,
}

async fn find(control: &Client, query: &DeleteQuery) -> Result<Found, Failure> {
    let discovery = discover(control).await?;
    let home = query.writing.home(control);
    let namespace = &home.namespace;
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    let ignored = |error: &CallError| query.ignore_not_found && error.is_not_found();
    let choice = Choice::new(&query.selector, &query.field_selector, query.all);
    let mut is_named = false;
    if !query.manifests.is_empty() && !query.words.is_empty() {
        return Err(Failure::refused(
            "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well",
            "leave -f or the words out",
        ));
    }
    for manifest in choice.of_manifests(&query.manifests)? {
        is_named = true;
        let located = manifest.locate(&discovery, &home);
        match located {
            Ok((resource, object)) => match control.get(&resource, &object.key()).await {
                Ok(object) => found.push((resource, object)),
                Err(error) if ignored(&error) => {}
                Err(error) => failures.push((manifest.place.clone(), call_failure(&error))),
            },
            Err(failure) => failures.push((manifest.place.clone(), failure)),
        }
    }
    if query.words.is_empty() {
        return Ok(Found {
            objects: found,
            failures,
            is_named,
        });
    }
    let mut all = reading::read_words(&query.words)?;
    let is_group = all.iter().any(Wanted::is_category);
    if is_group {
        all = reading::expand(&discovery, all);
    }
    for wanted in all {
        choice.check_names(&wanted)?;
        if query.all_namespaces && !wanted.names.is_empty() {
            return Err(Failure::refused(
                "an object cannot be named in all namespaces",
                "name its namespace with -n, or leave the name out and add --all or -l",
            ));
        }
        let resource = reading::resolve(&discovery, &wanted.word)?.resource.clone();
        if wanted.names.is_empty() {
            if query.selector.is_empty() && query.field_selector.is_empty() && !query.all {
                return Err(Failure::refused(
                    "resource(s) were provided, but no name was specified",
                    "name objects, choose them with -l, or add --all",
                ));
            }
            let options = ListOptions {
                label_selector: query.selector.clone(),
                field_selector: query.field_selector.clone(),
                ..ListOptions::default()
            };
            let place = match query.all_namespaces {
                true => "",
                false => namespace.as_str(),
            };
            let listed = control.list_all(&resource, place, &options).await;
            let mut items = listed.map_err(|error| call_failure(&error))?.items;
            // What belongs to another goes with it, and may be gone before its turn.
            if is_group {
                items.retain(|object| !has_controller(object));
            }
            found.extend(items.into_iter().map(|object| (resource.clone(), object)));
        }
        for name in &wanted.names {
            is_named = true;
            let key = reading::key(&resource, namespace, name);
            match control.get(&resource, &key).await {
                Ok(object) => found.push((resource.clone(), object)),
                Err(error) if ignored(&error) => {}
                Err(error) => {
                    let failure = missing(control, &resource, &key, &error).await;
                    failures.push((key.to_string(), failure));
                }
            }
        }
    }
    Ok(Found {
        objects: found,
        failures,
        is_named,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_shown_of_what_is_deleted() {
        let pods = ResourceType::namespaced("", "v1", "Pod", "pods");
        let deployments = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
        for (output, dry_run, resource, expected) in [
            (
                "table",
                DryRun::No,
                &pods,
                Some("pod \"a\" deleted from shop namespace\n"),
            ),
            (
                "name",
                DryRun::No,
                &deployments,
                Some("deployment.apps/a\n"),
            ),
            ("name", DryRun::Client, &pods, Some("pod/a\n")),
            ("json", DryRun::No, &pods, None),
            ("yaml", DryRun::No, &pods, None),
            ("jsonpath={.a}", DryRun::Server, &pods, None),
        ] {
            let query = DeleteQuery {
                words: Vec::new(),
                manifests: Vec::new(),
                selector: String::new(),
                field_selector: String::new(),
                all: false,
                all_namespaces: false,
                writing: Writing {
                    output: Some(Output::parse(output).unwrap()),
                    dry_run,
                    ..Writing::default()
                },
                propagation: Propagation::Background,
                grace_seconds: None,
                wait: false,
                timeout: None,
                ignore_not_found: false,
            };
            let object = Object::new(&resource.kind, &object::ObjectKey::namespaced("shop", "a"));
            let said = check(&query).ok().map(|()| told(&query, resource, &object));
            assert_eq!(said.as_deref(), expected, "{output}");
        }
    }
}
