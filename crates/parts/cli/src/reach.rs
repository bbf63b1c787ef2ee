//! Finding the control plane, and saying what went wrong on the way in words of the command line.

use std::path::PathBuf;

use client::{Address, CallError, Client, ConfigError, KubeconfigSource};
use object::time::Time;
use telemetry::chain;

use crate::acting::{Actor, act_as};
use crate::chosen::Chosen;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::plugin::{self, plugin_failure};
use crate::reading::clean;

/// More is not said of why a kubeconfig is of no use.
const LONGEST: usize = 300;
/// So many contexts are named to those who ask for one that is not there.
const CONTEXTS: usize = 10;
/// What is no longer than this says nothing by being part of something else.
const SHORT: usize = 12;

/// Which control plane a command is for.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The kubeconfig; what the environment names if absent.
    pub kubeconfig: Option<PathBuf>,
    /// One of its contexts; its current one if absent.
    pub context: Option<String>,
}

impl Reach {
    /// A client for it.
    pub async fn connect(&self) -> Result<Client, Failure> {
        let connected = Client::from_kubeconfig(&self.source()).await;
        Ok(connected
            .map_err(|error| self.advise(unusable(&error)))?
            .named("karavel"))
    }

    /// A client for it that acts as somebody else.
    pub async fn connect_as(&self, actor: &Actor) -> Result<Client, Failure> {
        act_as(&self.connect().await?, actor)
    }

    /// A client for a member, which this is the way to.
    pub async fn connect_member(&self) -> Result<Client, Failure> {
        let connected = Client::from_kubeconfig(&self.source()).await;
        let connected = connected.map_err(|error| {
            let failure = match unusable(&error) {
                failure if failure.hint() == plugin::CHECK => failure,
                failure => failure.advised("name the member's own kubeconfig with --cluster-kubeconfig, and one of its contexts with --cluster-context"),
            };
            self.advise(failure)
        });
        Ok(connected?.named("karavel"))
    }

    /// Where it is.
    pub async fn address(&self) -> Result<Address, Failure> {
        let address = self.source().address().await;
        address.map_err(|error| self.advise(unusable(&error)))
    }

    /// The same with the context that was probably meant, or with those there are, if there is none of the name; of a
    /// credential plugin, with its name.
    fn advise(&self, failure: Failure) -> Failure {
        let chosen = Chosen::read(self);
        if failure.hint() == plugin::CHECK {
            let Some(command) = chosen.plugin() else {
                return failure;
            };
            let named = format!("the command {:?} in", clean(command));
            let hint = plugin::CHECK.replacen("the command in", &named, 1);
            return failure.advised(hint);
        }
        let hint = |wrong| context_hint(wrong, &chosen.contexts());
        match chosen.context().and_then(hint) {
            Some(hint) => failure.advised(hint),
            None => failure,
        }
    }

    /// The end of a command, with what only the kubeconfig can tell: whoever is not known may come with a certificate that
    /// holds no longer.
    #[must_use]
    pub fn explain(&self, failure: Failure, now: Time) -> Failure {
        let is_unknown = failure.hint() == UNKNOWN;
        if !is_unknown && !failure.to_string().contains("CertificateExpired") {
            return failure;
        }
        match Chosen::read(self).certificate_end() {
            Some(end) if end < now => failure.advised(format!(
                "the client certificate in the kubeconfig holds no longer: it ended at {end}; take a new one from the server's data directory, or from whoever gave it out"
            )),
            _ => failure,
        }
    }

    fn source(&self) -> KubeconfigSource {
        let context = self.context.clone();
        match self.kubeconfig.clone() {
            Some(path) => KubeconfigSource::File { path, context },
            None => KubeconfigSource::Environment { context },
        }
    }
}

/// What to do about a context, if there is none of the name among those that are known.
fn context_hint(wrong: &str, known: &[String]) -> Option<String> {
    if known.is_empty() || known.iter().any(|known| known == wrong) {
        return None;
    }
    if let Some(near) = nearest(wrong, known.iter().map(String::as_str)) {
        return Some(format!("did you mean {near:?}?"));
    }
    let (shown, more) = known.split_at(known.len().min(CONTEXTS));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("it has: {}{more}", shown.join(", ")))
}

/// Why a kubeconfig is of no use. What stands in it may be anything, secrets among it, so it is not told at length.
fn unusable(error: &ConfigError) -> Failure {
    if let Some(failure) = plugin_failure(error) {
        return failure;
    }
    let mut what = of_kubeconfig(&said_once(&chain(error).to_string()));
    if let Some((end, _)) = what.char_indices().nth(LONGEST) {
        what.truncate(end);
        what.push_str("...");
    }
    Failure::refused(
        what,
        "name the control plane's kubeconfig with --kubeconfig or KUBECONFIG; `karavel up` and `karavel server` write one into the data directory",
    )
}

/// What is wrong with the kubeconfig. Where a place inside a cluster was tried too, only the file is told of: nobody who types
/// is in one.
fn of_kubeconfig(causes: &str) -> String {
    let said = match causes.split_once("kubeconfig: (") {
        Some((_, why)) => {
            let why = why.strip_suffix(')').unwrap_or(why);
            format!("no kubeconfig can be used: {why}")
        }
        None => causes.to_owned(),
    };
    if let Some((before, name)) = said.split_once("failed to load current context: ") {
        return format!("{before}it has no context {name:?}");
    }
    said.replace(
        "failed to determine current context",
        "it says nothing of a current context",
    )
    .replace("'\"", "\"")
    .replace("\"'", "\"")
}

/// A chain of causes in one line, without what several of them say and without the names of types.
fn said_once(causes: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in causes.split(": ") {
        let part = part.lines().next().unwrap_or_default().trim();
        // A short one, such as a name, may be in a longer one by chance.
        let is_within = |said: &&str| part.len() > SHORT && said.contains(part);
        let is_said = parts.iter().any(|said| *said == part || is_within(said));
        if !part.is_empty() && !is_said && part != "ServiceError" {
            parts.push(part);
        }
    }
    parts.join(": ")
}

/// What to do about a server that cannot be reached.
pub(crate) const UNREACHED: &str =
    "check that the server runs and that the address in the kubeconfig is right";

/// What to do about a server that does not know who asks.
const UNKNOWN: &str = "the server does not know this user: check the kubeconfig's credentials";

/// What to do about a server that runs and is not who the kubeconfig says it is.
fn certificate_hint(what: &str) -> Option<&'static str> {
    let (_, why) = what.split_once("invalid peer certificate: ")?;
    Some(
        if why.starts_with("NotValidForName") || why.contains("not valid for name") {
            "the server has no certificate for the address in the kubeconfig: use one of those that it has, or set tls-server-name"
        } else if why.starts_with("Expired")
            || why.starts_with("NotValidYet")
            || why.contains("certificate expired")
        {
            "the server's certificate does not hold now: check the clocks here and there, and renew the certificate"
        } else {
            "another server answers at this address than the kubeconfig is for, or it has begun anew: take the kubeconfig from its data directory again"
        },
    )
}

/// A call that failed, as the end of a command. Refusals read as kubectl's do.
///
/// What would be refused again is refused; what may work a little later has failed.
#[must_use]
pub fn call_failure(error: &CallError) -> Failure {
    if let Some(failure) = plugin_failure(error) {
        return failure;
    }
    let Some(refusal) = error.refusal() else {
        let what = said_once(&chain(error).to_string());
        return match error {
            CallError::Unsendable { .. } => Failure::refused(what, "check the names and flags"),
            _ => {
                let hint = certificate_hint(&what);
                Failure::failed(what, hint.unwrap_or(UNREACHED))
            }
        };
    };
    let what = match refusal.reason.as_str() {
        "" => format!("from server: {}", refusal.message),
        reason => format!("from server ({reason}): {}", refusal.message),
    };
    let hint = match refusal.code {
        413 => "an object may have 3 MiB at most: make it smaller, or divide it",
        400 | 406 | 415 => "correct what was given and repeat",
        401 => UNKNOWN,
        // What a rule of admission says is about the object, not about who sends it.
        403 if refusal.message.contains("denied the request") => {
            "correct what the rule complains about and repeat"
        }
        // Nobody may, whatever their roles.
        403 if refusal
            .message
            .ends_with("this namespace may not be deleted") =>
        {
            "the control plane needs it; `karavel delete TYPE --all -n NAMESPACE` deletes what is in it"
        }
        403 => {
            "ask an administrator for a role that allows it; `kubectl auth can-i --list` shows what is allowed"
        }
        404 => "check the name, the namespace and the context",
        405 => {
            "this kind does not allow it; `karavel api-resources -o wide` shows what kinds allow"
        }
        409 if error.is_already_exists() => {
            "choose another name, or change the one that is there with `karavel apply`"
        }
        409 if refusal.message.starts_with("Apply failed with ") => {
            "others own these fields: leave them out of the file, or take them over with --force-conflicts"
        }
        409 => "somebody changed it meanwhile: look again and repeat",
        410 => "it is gone: look again and repeat",
        422 => "correct the named fields and repeat",
        429 => return Failure::failed(what, "the server is busy: repeat a little later"),
        // A store that could not write does not try again by itself.
        500..=504 if refusal.message.contains("takes no more writes") => {
            return Failure::failed(
                what,
                "make room on the server's disk, or repair it, and start the server again: it goes on where it was",
            );
        }
        502..=504 => return Failure::failed(what, "repeat a little later"),
        // Upstream: an apply with unknown fields is answered as if the server were at fault.
        500 if refusal.message.contains(": expected string, got ") => {
            "the named field is a text: put its value into quotes"
        }
        500 if refusal.message.contains("typed patch object") => {
            "correct the named field: the kind has none of that name and type"
        }
        _ => return Failure::failed(what, "see the server's log"),
    };
    Failure::refused(what, hint)
}

#[cfg(test)]
mod tests {
    use client::Refusal;

    use super::*;

    fn refused(code: u16, reason: &str, message: &str) -> CallError {
        CallError::Refused(Box::new(Refusal {
            request: "GET /x".to_owned(),
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details: object::Value::Null,
            retry_after: None,
        }))
    }

    #[test]
    fn who_asks_for_no_context_is_told_which_there_are() {
        let many: Vec<String> = (0..12).map(|number| format!("m{number}")).collect();
        let few = ["karmada-apiserver".to_owned(), "member1".to_owned()];
        for (wrong, known, expected) in [
            (
                "karmada-apisever",
                &few[..],
                Some("did you mean \"karmada-apiserver\"?"),
            ),
            ("nope", &few[..], Some("it has: karmada-apiserver, member1")),
            (
                "nope",
                &many[..],
                Some("it has: m0, m1, m2, m3, m4, m5, m6, m7, m8, m9 and 2 more"),
            ),
            ("member1", &few[..], None),
            ("nope", &[], None),
        ] {
            assert_eq!(context_hint(wrong, known).as_deref(), expected, "{wrong}");
        }
    }

    #[test]
    fn what_would_be_refused_again_ends_with_1_and_the_rest_with_2() {
        for (code, reason, message, exit, hint) in [
            (400, "BadRequest", "m", 1, "correct what was given"),
            (401, "Unauthorized", "m", 1, "credentials"),
            (403, "Forbidden", "m", 1, "role"),
            (
                403,
                "Forbidden",
                "admission webhook \"x\" denied the request: spec.a",
                1,
                "complains about",
            ),
            (
                403,
                "Forbidden",
                "namespaces \"default\" is forbidden: this namespace may not be deleted",
                1,
                "--all -n NAMESPACE",
            ),
            (404, "NotFound", "m", 1, "check the name"),
            (405, "MethodNotAllowed", "m", 1, "does not allow"),
            (409, "AlreadyExists", "m", 1, "another name"),
            (409, "Conflict", "m", 1, "meanwhile"),
            (
                409,
                "Conflict",
                "Apply failed with 1 conflict: conflict with \"alice\": .data.a",
                1,
                "--force-conflicts",
            ),
            (410, "Expired", "m", 1, "gone"),
            (415, "UnsupportedMediaType", "m", 1, "correct"),
            (422, "Invalid", "m", 1, "named fields"),
            (429, "TooManyRequests", "m", 2, "busy"),
            (500, "InternalError", "m", 2, "log"),
            (
                500,
                "",
                "failed to create typed patch object: .spec.x: field not declared in schema",
                1,
                "named field",
            ),
            (
                500,
                "",
                "failed to create typed patch object: .data.x: expected string, got true",
                1,
                "quotes",
            ),
            (502, "", "m", 2, "later"),
            (503, "ServiceUnavailable", "m", 2, "later"),
            (
                503,
                "ServiceUnavailable",
                "the store takes no more writes: No space left on device",
                2,
                "make room on the server's disk",
            ),
            (504, "Timeout", "m", 2, "later"),
        ] {
            let failure = call_failure(&refused(code, reason, message));
            assert_eq!(failure.exit_code(), exit, "{code} {reason}");
            assert!(failure.hint().contains(hint), "{code}: {}", failure.hint());
            assert!(!failure.to_string().contains("()"), "{failure}");
        }
        let late = CallError::Late {
            request: "GET /x".to_owned(),
            deadline: std::time::Duration::from_secs(5),
        };
        assert_eq!(call_failure(&late).exit_code(), 2);
    }

    #[test]
    fn a_server_of_another_authority_runs_all_right() {
        let before = "GET /api: the server cannot be reached: client error (Connect): invalid peer certificate: ";
        for (why, expected) in [
            (
                "UnknownIssuer",
                "take the kubeconfig from its data directory again",
            ),
            (
                "BadSignature",
                "take the kubeconfig from its data directory again",
            ),
            (
                "certificate not valid for name \"x\"; certificate is only valid for DnsName(\"y\")",
                "tls-server-name",
            ),
            ("NotValidForName", "tls-server-name"),
            (
                "certificate expired: verification time 2 (UNIX), but certificate is not valid after 1",
                "clocks",
            ),
        ] {
            let hint = certificate_hint(&format!("{before}{why}")).unwrap();
            assert!(hint.contains(expected), "{why}: {hint}");
        }
        assert!(certificate_hint("tcp connect error: Connection refused").is_none());
    }

    #[test]
    fn causes_are_told_once() {
        for (causes, expected) in [
            (
                "GET /api: the server cannot be reached: ServiceError: client error (Connect): client error (Connect): tcp connect error: Connection refused (os error 111)",
                "GET /api: the server cannot be reached: client error (Connect): tcp connect error: Connection refused (os error 111)",
            ),
            ("a: b\nc: a", "a: b"),
            (
                "failed to load current context: x",
                "failed to load current context: x",
            ),
            ("", ""),
        ] {
            assert_eq!(said_once(causes), expected);
        }
    }

    #[test]
    fn only_the_kubeconfig_is_blamed_outside_of_clusters() {
        let tried = |why: &str| {
            format!(
                "cannot find a kubeconfig: failed to infer config: in-cluster: (failed to read), kubeconfig: ({why})"
            )
        };
        for (causes, expected) in [
            (
                tried(
                    "failed to read kubeconfig from '\"/x\"': No such file or directory (os error 2)",
                ),
                "no kubeconfig can be used: failed to read kubeconfig from \"/x\": No such file or directory (os error 2)",
            ),
            (
                tried("failed to load current context: x"),
                "no kubeconfig can be used: it has no context \"x\"",
            ),
            (
                tried("failed to determine current context"),
                "no kubeconfig can be used: it says nothing of a current context",
            ),
            ("something else".to_owned(), "something else"),
            (
                "cannot use the kubeconfig: failed to load current context: nope".to_owned(),
                "cannot use the kubeconfig: it has no context \"nope\"",
            ),
        ] {
            assert_eq!(of_kubeconfig(&causes), expected);
        }
    }

    fn reach(directory: &tempfile::TempDir, text: &str) -> Reach {
        let path = directory.path().join("config");
        std::fs::write(&path, text).unwrap();
        Reach {
            kubeconfig: Some(path),
            context: None,
        }
    }

    #[tokio::test]
    async fn a_current_context_that_is_misspelt_is_answered_with_the_right_one() {
        let directory = tempfile::tempdir().unwrap();
        let text = "current-context: karmada-apisever
contexts: [{name: karmada-apiserver, context: {cluster: c, user: u}}]";
        let failure = reach(&directory, text).connect().await.err().unwrap();
        assert_eq!(failure.hint(), "did you mean \"karmada-apiserver\"?");
    }

    #[tokio::test]
    async fn a_credential_plugin_that_fails_is_heard() {
        let directory = tempfile::tempdir().unwrap();
        for (command, expected) in [
            (
                "{command: sh, args: ['-c', 'echo token expired >&2; exit 3'], env: [{name: A, value: secret}]",
                "the credential plugin failed (exit status: 3): token expired",
            ),
            (
                "{command: /nowhere/plugin",
                "the credential plugin cannot be run: No such file or directory (os error 2)",
            ),
            (
                "{command: sh, args: ['-c', 'echo secret']",
                "the credential plugin answers with no credentials",
            ),
        ] {
            let text = format!(
                "current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]
users: [{{name: u, user: {{exec: {command}, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}}}}]"
            );
            let failure = reach(&directory, &text).connect().await.err().unwrap();
            assert_eq!(failure.to_string(), expected);
            let hint = failure.hint();
            assert!(hint.contains("users[].user.exec") && hint.contains("the command \""));
        }
    }

    #[test]
    fn a_certificate_that_holds_no_longer_is_told_with_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let authority = include_str!("../testdata/client.pem");
        std::fs::write(directory.path().join("client.pem"), authority).unwrap();
        let reach = reach(
            &directory,
            "current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {client-certificate: client.pem}}]",
        );
        let now = |seconds| Time::from_unix_seconds(seconds);
        let unknown = || call_failure(&refused(401, "Unauthorized", "Unauthorized"));
        let late = reach.explain(unknown(), now(4_000_000_000));
        let hint = late.hint();
        assert!(hint.contains("it ended at 2025-01-02T00:00:00Z"), "{hint}");
        assert_eq!(reach.explain(unknown(), now(1_000_000)).hint(), UNKNOWN);
        let other = call_failure(&refused(404, "NotFound", "m"));
        let other = reach.explain(other, now(4_000_000_000));
        assert!(!other.hint().contains("certificate"), "{}", other.hint());
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_none_is_told_in_one_line_without_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secrets");
        std::fs::write(&file, "top: secret\nmore: [lines\nof: secrets\n").unwrap();
        for path in [file, directory.path().join("none")] {
            let reach = Reach {
                kubeconfig: Some(path.clone()),
                context: None,
            };
            let Err(failure) = reach.connect().await else {
                panic!("{} was taken for a kubeconfig", path.display());
            };
            let said = failure.to_string();
            assert_eq!(failure.exit_code(), 1);
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(!said.contains("of: secrets"), "{said}");
            assert!(said.matches("os error").count() <= 1, "{said}");
        }
    }
}
