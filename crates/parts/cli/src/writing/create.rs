//! New objects, as files and words say them.

use client::Client;

use super::{DryRun, Writing, discover, last_applied};
use crate::failure::Failure;
use crate::manifests::Manifest;
use crate::reach::call_failure;
use crate::reading::{Answer, Sink, blame_places};

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
                DryRun::Client => object,
                _ => control
                    .create(&resource, &object, &writing.strict_options())
                    .await
                    .map_err(|error| call_failure(&error))?,
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
