//! New objects, as files and words say them.

use client::Client;

use super::{DryRun, Writing, discover, last_applied};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reading::{Answer, Sink, blame_places};
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
        ..Answer::default()
    })
}
