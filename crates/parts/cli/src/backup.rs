//! Saving a running server's data, and beginning a new data directory from what was saved.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use client::{BoxError, Client};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use object::Value;
use store::embedded;

use crate::failure::Failure;

/// Where a server gives out its backup.
const PATH: &str = "/karavel/v1/backup";
/// How long nothing may come before the server is taken for dead.
const SILENCE: Duration = Duration::from_secs(60);

/// As much of a refusal as is read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// What was saved or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// How many objects.
    pub entries: u64,
    /// As of which revision.
    pub revision: u64,
    /// In how many bytes.
    pub bytes: u64,
}

/// Saves everything a running server has into a new file.
pub async fn backup(control: &Client, file: &Path) -> Result<Saved, Failure> {
    if file.exists() {
        return Err(Failure::refused(
            format!("{} exists already", file.display()),
            "name another file; a backup never overwrites one",
        ));
    }
    let unfinished = file.with_extension("unfinished");
    let saved = save(control, &unfinished, file).await;
    if saved.is_err() {
        drop(fs::remove_file(&unfinished)); // Nothing half done is left behind.
    }
    saved
}

async fn save(control: &Client, unfinished: &Path, file: &Path) -> Result<Saved, Failure> {
    let cannot = |error: io::Error| cannot_write(file, &error);
    let mut output = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600) // Secrets are in it.
        .open(unfinished)
        .map_err(cannot)?;
    fetch(control, &mut output).await?;
    output.sync_all().map_err(cannot)?;
    let bytes = output.metadata().map_err(cannot)?.len();
    drop(output);
    // Only a file that can be restored is a backup.
    let written = File::open(unfinished).map_err(cannot)?;
    let summary = embedded::inspect(BufReader::new(written)).map_err(|error| {
        Failure::failed(
            format!("what the server sent is not a whole backup: {error}"),
            "try again",
        )
    })?;
    fs::rename(unfinished, file).map_err(cannot)?;
    Ok(Saved {
        entries: summary.entries,
        revision: summary.revision.0,
        bytes,
    })
}

/// Fills the store of a data directory that has none yet.
pub fn restore(file: &Path, data_dir: &Path) -> Result<Saved, Failure> {
    let input = File::open(file).map_err(|error| {
        Failure::refused(
            format!("cannot read {}: {error}", file.display()),
            "name the file `karavel backup` wrote",
        )
    })?;
    let bytes = input.metadata().map_or(0, |metadata| metadata.len());
    let target = data_dir.join("store");
    let mut made = fs::DirBuilder::new();
    made.recursive(true).mode(0o700); // Secrets are in it.
    made.create(&target)
        .map_err(|error| cannot_write(&target, &error))?;
    let summary = embedded::restore(&target, BufReader::new(input)).map_err(|error| {
        Failure::refused(
            telemetry::chain(&error).to_string(),
            "restore a whole backup into a new data directory",
        )
    })?;
    Ok(Saved {
        entries: summary.entries,
        revision: summary.revision.0,
        bytes,
    })
}

async fn fetch(control: &Client, output: &mut File) -> Result<(), Failure> {
    let download = async {
        let request = Request::get(PATH).body(client::Body::empty())?;
        let response = control.send(request).await?;
        if response.status() != StatusCode::OK {
            let (status, body) = (response.status(), response.into_body());
            let body = Limited::new(body, REFUSAL_BYTES).collect().await?;
            let refusal: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            let why = refusal["message"].as_str().unwrap_or("it does not say why");
            return Err(format!("it answered {status}: {why}").into());
        }
        let mut body = response.into_body();
        loop {
            let frame = tokio::time::timeout(SILENCE, body.frame()).await?;
            let Some(frame) = frame else { return Ok(()) };
            if let Ok(chunk) = frame?.into_data() {
                output.write_all(&chunk)?;
            }
        }
    };
    download.await.map_err(|error: BoxError| {
        Failure::failed(
            format!("cannot get a backup: {}", telemetry::chain(&*error)),
            "check that the server is running and that its objects are in its own data directory",
        )
    })
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(
        format!("cannot write {}: {error}", path.display()),
        "check the path, its owner and the space left",
    )
}
