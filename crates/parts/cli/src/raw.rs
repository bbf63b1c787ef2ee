//! Any path of the control plane, asked as it is.

use client::Client;
use http::Method;

use crate::failure::Failure;
use crate::reach::call_failure;

/// What is asked of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawVerb {
    /// What it has.
    Get,
    /// That it takes something.
    Post,
    /// That what it has goes.
    Delete,
}

/// Asks a path, and gives back what it answers with. Whatever is sent is sent as it is.
pub async fn raw(
    control: &Client,
    verb: RawVerb,
    path: &str,
    body: Vec<u8>,
) -> Result<String, Failure> {
    check(path)?;
    let method = match verb {
        RawVerb::Get => Method::GET,
        RawVerb::Post => Method::POST,
        RawVerb::Delete => Method::DELETE,
    };
    let answered = control
        .request(method, path, "application/json", body.into())
        .await;
    let answer = answered.map_err(|error| call_failure(&error))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Only what is below the server's root can be asked.
fn check(path: &str) -> Result<(), Failure> {
    match path.starts_with('/') && !path.starts_with("//") {
        true => Ok(()),
        false => Err(Failure::refused(
            format!("--raw must be a path of the server, and is {path:?}"),
            "write for example: --raw /readyz?verbose, or --raw /api/v1/namespaces",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_are_asked() {
        for (path, is_fine) in [
            ("/", true),
            ("/readyz?verbose", true),
            ("", false),
            ("readyz", false),
            ("https://elsewhere/readyz", false),
            ("//elsewhere/readyz", false),
        ] {
            assert_eq!(check(path).is_ok(), is_fine, "{path}");
        }
    }
}
