//! How the server protects itself: from what was typed to what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use access::audit::LogOptions;
use access::oidc::OidcOptions;
use apiserver::{AuthorityFiles, Encryption, Issuer, Lifetimes};
use cli::Failure;

use crate::arguments::{Audit, Oidc, Security};
use crate::scheduling::duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
const MEGABYTE: u64 = 1024 * 1024;
/// The shortest and the longest life of a certificate.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Reads the files the flags name.
pub(crate) fn security(typed: Security) -> Result<apiserver::Security, Failure> {
    let authority = match (typed.ca_cert_file, typed.ca_key_file) {
        (Some(certificate), Some(key)) => Some(AuthorityFiles { certificate, key }),
        _ => None,
    };
    let resources = encrypted(&typed.encrypt)?;
    let lifetimes = Lifetimes {
        server: lifetime(
            "--server-certificate-lifetime",
            &typed.server_certificate_lifetime,
        )?,
        administrator: lifetime(
            "--admin-certificate-lifetime",
            &typed.admin_certificate_lifetime,
        )?,
    };
    Ok(apiserver::Security {
        authority,
        lifetimes,
        encryption: Encryption {
            key_file: typed.encryption_key_file,
            resources,
        },
        issuers: issuer(typed.oidc)?.into_iter().collect(),
        audit: audit(typed.audit)?,
        ..apiserver::Security::default()
    })
}

/// The resources to encrypt. A name that is none would leave in the clear what its author meant, without a word.
fn encrypted(typed: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<&str> = typed.iter().map(|name| name.trim()).collect();
    if names == ["none"] {
        return Ok(Vec::new());
    }
    let known = apiserver::encryptable();
    let compiled_in = apiserver::built_in().iter();
    let groups: BTreeSet<&str> = compiled_in.map(|(group, _)| *group).collect();
    for name in &names {
        let (plural, group) = parts(name);
        // Upstream: the group of a definition has a dot in it.
        let is_defined = group.contains('.')
            && !groups.contains(group)
            && object::names::check_dns1123_subdomain(group).is_empty()
            && object::names::check_dns1035_label(plural).is_empty();
        if is_defined || known.contains(*name) {
            continue;
        }
        let what = match *name {
            "" => "--encrypt: a name is empty".to_owned(),
            "none" => "--encrypt: none stands alone".to_owned(),
            name => format!("--encrypt: no resource that is kept is called {name:?}"),
        };
        let meant = cli::nearest(&name.to_lowercase(), known.iter().map(String::as_str));
        let hint = match meant {
            Some(meant) if *name != "none" => format!("did you mean {meant}?"),
            _ => "write plural or plural.group, such as secrets or works.work.karmada.io, or none alone".to_owned(),
        };
        return Err(Failure::refused(what, hint));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// The plural and the group of a resource; the core group is empty.
fn parts(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((name, ""))
}

/// How long a certificate lasts: long enough that there is time to replace it, and no longer than its authority.
fn lifetime(flag: &str, text: &str) -> Result<Duration, Failure> {
    let life = duration(flag, text)?;
    if !(SHORTEST..=LONGEST).contains(&life) {
        let what = format!("{flag}: {text:?} is not between 2s and 87600h");
        return Err(Failure::refused(what, format!("correct {flag}")));
    }
    Ok(life)
}

fn issuer(typed: Oidc) -> Result<Option<Issuer>, Failure> {
    let (Some(url), Some(client)) = (&typed.oidc_issuer_url, &typed.oidc_client_id) else {
        return Ok(None);
    };
    let mut required_claims = BTreeMap::new();
    for claim in &typed.oidc_required_claim {
        let Some((name, value)) = claim.split_once('=') else {
            return Err(Failure::refused(
                format!("--oidc-required-claim {claim} is not NAME=VALUE"),
                "correct --oidc-required-claim",
            ));
        };
        required_claims.insert(name.to_owned(), value.to_owned());
    }
    let prefix = typed.oidc_username_prefix.map(|prefix| match &*prefix {
        "-" => String::new(),
        _ => prefix,
    });
    let options = OidcOptions {
        username_claim: typed.oidc_username_claim,
        username_prefix: prefix,
        groups_claim: typed.oidc_groups_claim,
        groups_prefix: typed.oidc_groups_prefix,
        required_claims,
        algorithms: typed.oidc_signing_algs,
        ..OidcOptions::new(url, client)
    };
    let authorities = match &typed.oidc_ca_file {
        Some(path) => read(path)?.into_bytes(),
        None => Vec::new(),
    };
    Ok(Some(Issuer {
        options,
        authorities,
    }))
}

fn audit(typed: Audit) -> Result<Option<(access::audit::AuditPolicy, LogOptions)>, Failure> {
    let (Some(policy), Some(path)) = (typed.audit_policy_file, typed.audit_log_path) else {
        return Ok(None);
    };
    let parsed = apiserver::audit_policy(&read(&policy)?).map_err(|why| {
        Failure::refused(
            format!("cannot use the audit policy {}: {why}", policy.display()),
            "correct the file that --audit-policy-file names",
        )
    })?;
    let days = u32::from(typed.audit_log_maxage);
    let log = LogOptions {
        path,
        largest: typed.audit_log_maxsize.saturating_mul(MEGABYTE),
        kept: NonZeroUsize::new(typed.audit_log_maxbackup.into()),
        oldest: (days > 0).then(|| DAY * days),
    };
    Ok(Some((parsed, log)))
}

fn read(path: &Path) -> Result<String, Failure> {
    cli::read_text(path).map_err(|why| why.of("", &path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_kept_is_encrypted_and_a_slip_is_told() {
        for (typed, expected) in [
            ("none", Ok("")),
            ("secrets", Ok("secrets")),
            ("secrets, deployments.apps", Ok("secrets,deployments.apps")),
            ("things.example.com", Ok("things.example.com")),
            (
                "customresourcedefinitions.apiextensions.k8s.io",
                Ok("customresourcedefinitions.apiextensions.k8s.io"),
            ),
            (
                &apiserver::Encryption::default().resources.join(","),
                Ok("secrets,works.work.karmada.io,clusters.cluster.karmada.io"),
            ),
            ("", Err("a name is empty")),
            ("secrets,", Err("a name is empty")),
            ("secrets,none", Err("none stands alone")),
            ("secret", Err("called \"secret\" | did you mean secrets?")),
            ("Secrets", Err("called \"Secrets\" | did you mean secrets?")),
            (
                "secrets.v1",
                Err("called \"secrets.v1\" | did you mean secrets?"),
            ),
            (
                "work.work.karmada.io",
                Err("called \"work.work.karmada.io\" | did you mean works.work.karmada.io?"),
            ),
            (
                "Things.example.com",
                Err("called \"Things.example.com\" | write plural"),
            ),
            ("deployments", Err("called \"deployments\"")),
            // Answered and not kept, or kept under another name.
            ("tokenreviews.authentication.k8s.io", Err("called")),
            ("events.events.k8s.io", Err("called")),
        ] {
            let words: Vec<String> = typed.split(',').map(str::to_owned).collect();
            match (encrypted(&words), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.join(","), expected),
                (Err(Failure::Refused { what, hint }), Err(expected)) => {
                    let said = format!("{what} | {hint}");
                    assert!(said.contains(expected), "{typed}: {said}");
                }
                (found, _) => panic!("{typed}: {found:?}"),
            }
        }
    }
}
