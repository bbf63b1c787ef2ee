//! New objects, as files and words say them.

use client::Client;

use super::{DryRun, Writing, discover, last_applied};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reading::{Answer, Sink, blame_places};
use crate::schema::write_failure;

/// Creates objects, one after the other; one that is refused does not keep the others back. `save_config` notes what they
/// say as kubectl does, for its next `apply`.
pub async fn create(
    control: &Client,
    manifests: &[Manifest],
    writing: &Writing,
    save_config: bool,
    print: Sink<'_>,
) -> Result<Answer, Failure> {
    let discovery = discover(control).await?;
    let namespace = writing.namespace(control);
    let mut failures = Vec::new();
    for manifest in manifests {
        let created = async {
            let (resource, mut object) = manifest.locate(&discovery, &namespace)?;
            if save_config {
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
            print(&writing.say(&resource, &made, "created")?)
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
