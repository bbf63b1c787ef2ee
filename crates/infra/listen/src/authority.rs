//! The certificate authority in a directory: `ca.crt` and `ca.key`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::private_file::{keep_private, write_private};

/// As long as kubeadm's authorities last.
const AUTHORITY_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Certificates begin a little in the past, for peers whose clocks are slow.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

/// The soonest a certificate is replaced that its authority cuts short.
const SOONEST_RENEWAL: Duration = Duration::from_secs(60);

/// Signs certificates.
pub struct Authority {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    /// From when to when it is in force.
    life: (OffsetDateTime, OffsetDateTime),
}

/// Whom a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A server reached under these names and addresses.
    Server {
        /// DNS names and IP addresses.
        names: Vec<String>,
    },
    /// A user, as Kubernetes reads certificates: the common name, and the group as the organisation.
    User {
        /// The user's name.
        name: String,
        /// The user's group.
        group: Option<String>,
    },
}

/// A certificate and its key. The key is never printed.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
    /// When to replace it: at two thirds of its life.
    pub renew_at: SystemTime,
    /// When it is no longer accepted.
    pub expires_at: SystemTime,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Why there is no authority, or no certificate from it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file of the authority cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of the authority cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// One file is there and the other is not: making a new pair would cut off every client of the old one.
    #[error("{} is missing beside {}; restore it from a backup, or remove both to make a new authority", missing.display(), present.display())]
    Half {
        /// The file that is there.
        present: PathBuf,
        /// The file that is not.
        missing: PathBuf,
    },
    /// The files are not a certificate and its key.
    #[error("{} and its key are not a usable certificate authority", path.display())]
    Unusable {
        /// The certificate.
        path: PathBuf,
        /// Why.
        source: rcgen::Error,
    },
    /// The key is another certificate's: nobody would believe what is signed with it.
    #[error("{} is not the key of the certificate in {}", key.display(), certificate.display())]
    Mismatched {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// The authority is too old or too new: nobody would believe what is signed with it.
    #[error("the certificate authority in {} {why}; {}", path.display(), advice(*is_own))]
    NotInForce {
        /// The certificate.
        path: PathBuf,
        /// Since when, or from when on.
        why: String,
        /// Whether it was made by whoever asks for it.
        is_own: bool,
    },
    /// The authority came to its end while it was used.
    #[error("the signer has expired: the certificate authority {0}")]
    Ended(String),
    /// A certificate cannot be made.
    #[error("cannot issue a certificate")]
    Issue {
        /// Why.
        source: rcgen::Error,
    },
}

impl Authority {
    /// Loads the authority of a directory; makes one if there is none.
    pub fn open(directory: &Path, now: SystemTime) -> Result<Self, AuthorityError> {
        let certificate = directory.join("ca.crt");
        let key = directory.join("ca.key");
        match (certificate.exists(), key.exists()) {
            (true, true) => {
                keep_private(&key).map_err(|source| AuthorityError::Read {
                    path: key.clone(),
                    source,
                })?;
                Self::load_as(&certificate, &key, true, now)
            }
            (false, false) => Self::create(&certificate, &key, now),
            (true, false) => Err(AuthorityError::Half {
                present: certificate,
                missing: key,
            }),
            (false, true) => Err(AuthorityError::Half {
                present: key,
                missing: certificate,
            }),
        }
    }

    /// Loads an authority from a certificate and its key.
    pub fn load(certificate: &Path, key: &Path, now: SystemTime) -> Result<Self, AuthorityError> {
        Self::load_as(certificate, key, false, now)
    }

    fn load_as(
        certificate: &Path,
        key: &Path,
        is_own: bool,
        now: SystemTime,
    ) -> Result<Self, AuthorityError> {
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|source| AuthorityError::Read {
                path: path.to_owned(),
                source,
            })
        };
        let unusable = |source| AuthorityError::Unusable {
            path: certificate.to_owned(),
            source,
        };
        let certificate_pem = read(certificate)?;
        let pair = KeyPair::from_pem(&read(key)?).map_err(unusable)?;
        let public = pair.public_key_raw().to_vec();
        let issuer = Issuer::from_ca_cert_pem(&certificate_pem, pair).map_err(unusable)?;
        let Some((certified, life)) = key_and_life(&certificate_pem) else {
            return Err(unusable(rcgen::Error::CouldNotParseCertificate));
        };
        if certified != public {
            return Err(AuthorityError::Mismatched {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            });
        }
        let authority = Self {
            certificate_pem,
            issuer,
            life,
        };
        match authority.problem(now) {
            None => Ok(authority),
            Some(why) => Err(AuthorityError::NotInForce {
                path: certificate.to_owned(),
                why,
                is_own,
            }),
        }
    }

    fn create(certificate: &Path, key: &Path, now: SystemTime) -> Result<Self, AuthorityError> {
        let issue = |source| AuthorityError::Issue { source };
        let key_pair = KeyPair::generate().map_err(issue)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(issue)?;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "karavel-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.not_before = moment(now - CLOCK_SKEW);
        params.not_after = moment(now + AUTHORITY_LIFE);
        let certificate_pem = params.self_signed(&key_pair).map_err(issue)?.pem();
        // The key first: a certificate without its key would be refused at the next start, a key alone says more plainly
        // that the first start was cut short.
        write(key, &key_pair.serialize_pem())?;
        write(certificate, &certificate_pem)?;
        Self::load_as(certificate, key, true, now)
    }

    /// What clients must trust.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// From when to when it is in force.
    #[must_use]
    pub fn life(&self) -> (SystemTime, SystemTime) {
        (self.life.0.into(), self.life.1.into())
    }

    /// Why nobody believes what it signs, if that is so.
    #[must_use]
    pub fn problem(&self, now: SystemTime) -> Option<String> {
        let now = moment(now);
        let (begin, end) = self.life;
        if now < begin {
            Some(format!("is in force from {} on", shown(begin)))
        } else if now >= end {
            Some(format!("ended at {}", shown(end)))
        } else {
            None
        }
    }

    /// From when to when a certificate of this life is accepted, which is no longer than the authority is.
    pub(crate) fn validity(
        &self,
        life: Duration,
        now: SystemTime,
    ) -> Result<(OffsetDateTime, OffsetDateTime), AuthorityError> {
        if moment(now) >= self.life.1 {
            let why = format!("ended at {}", shown(self.life.1));
            return Err(AuthorityError::Ended(why));
        }
        let (begin, end) = validity(life, now);
        Ok((begin, end.min(self.life.1)))
    }

    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    /// Makes a key and a certificate for it.
    pub fn issue(
        &self,
        subject: &Subject,
        life: Duration,
        now: SystemTime,
    ) -> Result<Issued, AuthorityError> {
        let issue = |source| AuthorityError::Issue { source };
        let names = match subject {
            Subject::Server { names } => names.clone(),
            Subject::User { .. } => Vec::new(),
        };
        let mut params = CertificateParams::new(names).map_err(issue)?;
        params.distinguished_name = DistinguishedName::new();
        let usage = match subject {
            Subject::Server { .. } => {
                params
                    .distinguished_name
                    .push(DnType::CommonName, "karavel");
                ExtendedKeyUsagePurpose::ServerAuth
            }
            Subject::User { name, group } => {
                params
                    .distinguished_name
                    .push(DnType::CommonName, name.as_str());
                if let Some(group) = group {
                    params
                        .distinguished_name
                        .push(DnType::OrganizationName, group.as_str());
                }
                ExtendedKeyUsagePurpose::ClientAuth
            }
        };
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        (params.not_before, params.not_after) = self.validity(life, now)?;
        let expires_at = (now + life).min(params.not_after.into());
        let left = expires_at.duration_since(now).unwrap_or_default();
        // One that ends with the authority is not made longer by making it anew, so not ever more often towards the end.
        let renewed = (left * 2 / 3).max(SOONEST_RENEWAL.min(life * 2 / 3));
        let key = KeyPair::generate().map_err(issue)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(issue)?;
        Ok(Issued {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            renew_at: now + renewed,
            expires_at,
        })
    }
}

/// From when to when a certificate of this life is accepted. Certificates name whole seconds: one that was cut off at
/// the end would take part of a short life.
fn validity(life: Duration, now: SystemTime) -> (OffsetDateTime, OffsetDateTime) {
    let end = moment(now + life);
    let missing = (1_000_000_000 - end.nanosecond()) % 1_000_000_000;
    let end = end + Duration::from_nanos(missing.into());
    (moment(now - CLOCK_SKEW.min(life)), end)
}

/// The public key of the first certificate in a file, and from when to when it is in force.
fn key_and_life(certificate_pem: &str) -> Option<(Vec<u8>, (OffsetDateTime, OffsetDateTime))> {
    let der = CertificateDer::from_pem_slice(certificate_pem.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    let key = certificate.public_key().subject_public_key.data.to_vec();
    let validity = certificate.validity();
    let life = (
        validity.not_before.to_datetime(),
        validity.not_after.to_datetime(),
    );
    Some((key, life))
}

fn advice(is_own: bool) -> &'static str {
    if is_own {
        "check the clock; if it is right, move ca.crt and ca.key away to make a new authority, and give every client a new certificate"
    } else {
        "check the clock; if it is right, name a certificate that is in force with --ca-cert-file, and its key with --ca-key-file"
    }
}

/// A time as people read it.
fn shown(time: OffsetDateTime) -> String {
    let (hour, minute, second) = time.to_hms();
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", time.date())
}

fn moment(time: SystemTime) -> OffsetDateTime {
    OffsetDateTime::from(time)
}

fn write(path: &Path, text: &str) -> Result<(), AuthorityError> {
    write_private(path, text).map_err(|source| AuthorityError::Write {
        path: path.to_owned(),
        source,
    })
}
