//! A certificate authority for one run, so that real servers and their clients trust one another.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

/// An authority and the folder where it leaves what it signs.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// Makes an authority; its certificate is `ca.crt` in the folder.
    pub fn create(folder: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject("outside", "");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params
            .self_signed(&key)
            .context("cannot sign the authority")?;
        fs::write(folder.join("ca.crt"), certificate.pem())?;
        fs::write(folder.join("ca.key"), key.serialize_pem())?;
        Ok(Self {
            folder: folder.to_owned(),
            issuer: Issuer::new(params, key),
        })
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The authority's own key, for servers that sign in its name.
    pub fn key(&self) -> PathBuf {
        self.folder.join("ca.key")
    }

    /// A certificate for a server on this machine, or for a client of that name and group.
    pub fn sign(&self, name: &str, group: &str) -> Result<Signed> {
        let hosts = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(String::from);
        let mut params = CertificateParams::new(hosts).context("cannot name this machine")?;
        params.distinguished_name = subject(name, group);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .context("cannot sign")?;
        let file = |ending: &str| {
            self.folder
                .join(format!("{}.{ending}", name.replace(':', "-")))
        };
        let signed = Signed {
            certificate: file("crt"),
            key: file("key"),
        };
        fs::write(&signed.certificate, certificate.pem())?;
        fs::write(&signed.key, key.serialize_pem())?;
        Ok(signed)
    }

    /// A kubeconfig for a client of that name and group.
    pub fn kubeconfig(&self, port: u16, name: &str, group: &str) -> Result<PathBuf> {
        let signed = self.sign(name, group)?;
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n\
             clusters:\n- name: it\n  cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: {}}}\n\
             users:\n- name: it\n  user: {{client-certificate: {}, client-key: {}}}\n\
             contexts:\n- name: it\n  context: {{cluster: it, user: it}}\n",
            self.certificate().display(),
            signed.certificate.display(),
            signed.key.display()
        );
        let path = self
            .folder
            .join(format!("{}.kubeconfig", name.replace(':', "-")));
        fs::write(&path, text)?;
        Ok(path)
    }
}

fn subject(name: &str, group: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    if !group.is_empty() {
        subject.push(DnType::OrganizationName, group);
    }
    subject
}
