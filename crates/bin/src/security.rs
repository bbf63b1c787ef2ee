//! How the server protects itself: from what was typed to what it means.

use std::collections::BTreeMap;
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
    let mut resources = typed.encrypt;
    resources.retain(|resource| !matches!(resource.as_str(), "" | "none"));
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
