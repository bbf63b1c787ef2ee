//! Trouble with the command that a kubeconfig names to hand out credentials.

use std::error::Error;

use client::kube::client::AuthError;

use crate::failure::Failure;
use crate::reading::clean;

/// More is not told of what a plugin says.
const LONGEST: usize = 400;
/// What to do about it.
pub(crate) const CHECK: &str = "check the command in users[].user.exec of the kubeconfig: run it by hand, and log in if it asks for that";

/// What went wrong with the plugin, if that is what lies under an error.
pub(crate) fn plugin_failure(error: &(dyn Error + 'static)) -> Option<Failure> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(error) = error.downcast_ref::<AuthError>() {
            return Some(Failure::refused(tell(error)?, CHECK));
        }
        link = error.source();
    }
    None
}

/// What went wrong. The line it was run with is left out: it may hold secrets.
fn tell(error: &AuthError) -> Option<String> {
    Some(match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = brief(&String::from_utf8_lossy(&out.stderr));
            let said = match said.as_str() {
                "" => "it says nothing of why",
                said => said,
            };
            format!("the credential plugin failed ({}): {said}", out.status)
        }
        AuthError::AuthExecStart(error) => {
            format!("the credential plugin cannot be run: {error}")
        }
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            "the credential plugin answers with no credentials".to_owned()
        }
        _ => return None,
    })
}

/// Some lines as one that may not steer the terminal. Of much the end is told: that is where programs say why they end.
fn brief(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = clean(&lines.collect::<Vec<&str>>().join("; "));
    let surplus = said.chars().count().saturating_sub(LONGEST);
    match surplus {
        0 => said,
        _ => format!("...{}", said.chars().skip(surplus).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_says_is_one_harmless_line() {
        let long = format!("begin{}end", "x".repeat(LONGEST));
        let cut = format!("...{}end", "x".repeat(LONGEST - 3));
        for (said, expected) in [
            ("", ""),
            ("\n  token expired\n", "token expired"),
            ("a\r\n\nb", "a; b"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            (long.as_str(), cut.as_str()),
        ] {
            assert_eq!(brief(said), expected);
        }
    }
}
