use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_ED25519,
    SignatureAlgorithm,
};
use x509_parser::prelude::X509Certificate;

use super::*;

/// `CN=ann+O=ops`, both in one place of the subject.
const TOGETHER: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHUMHwCAQAwGjEYMAoGA1UEAwwDYW5uMAoGA1UECgwDb3BzMFkwEwYHKoZIzj0C\n\
AQYIKoZIzj0DAQcDQgAErmmII50Gb1gCXMZ1KcWq9RbK0/HDVQJxcWERtWerk+yQ\n\
T0RQ7MSXAjvJ2Bs2q1q2OLHMq/z2jeTaluZWsenWZqAAMAoGCCqGSM49BAMCA0gA\n\
MEUCIQDYE7v9PpW0DOktC/pYH8M7v8lu3ez8FLXXE+fT9/C7wgIgUJEwrs/8J/ln\n\
czCDomuywuF0fmx/8hbwkNwTYzhFHt8=\n\
-----END CERTIFICATE REQUEST-----\n";

fn request(names: &[(DnType, &str)], sort: &'static SignatureAlgorithm) -> String {
    let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    params.distinguished_name = DistinguishedName::new();
    for (kind, text) in names {
        params.distinguished_name.push(kind.clone(), *text);
    }
    let key = KeyPair::generate_for(sort).unwrap();
    params.serialize_request(&key).unwrap().pem().unwrap()
}

/// What a request asks for, and the subject of the certificate that comes of it.
fn signed(pem: &str) -> (String, String) {
    let request = SigningRequest::parse(pem.as_bytes()).unwrap();
    let asked = format!(
        "{} {:?} {:?} {}",
        request.name, request.groups, request.dns_names, request.repeats
    );
    let directory = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let authority = Authority::open(directory.path(), now).unwrap();
    let life = Duration::from_secs(60);
    let made = authority.sign(request, &[Usage::ClientAuth], life, now);
    let made = Pem::iter_from_buffer(made.unwrap().as_bytes())
        .next()
        .unwrap()
        .unwrap();
    let (_, certificate) = X509Certificate::from_der(&made.contents).unwrap();
    // A key that is written as one of another sort could not be read.
    certificate.public_key().parsed().unwrap();
    (asked, certificate.subject().to_string())
}

#[test]
fn requests_are_read_and_signed_whatever_their_key() {
    let names = [
        (DnType::CommonName, "ann"),
        (DnType::OrganizationName, "ops"),
    ];
    for sort in [
        &PKCS_ECDSA_P256_SHA256,
        &PKCS_ECDSA_P384_SHA384,
        &PKCS_ECDSA_P521_SHA512,
        &PKCS_ED25519,
    ] {
        let (asked, made) = signed(&request(&names, sort));
        assert_eq!(asked, "ann [\"ops\"] [\"a.example\"] false", "{sort:?}");
        assert_eq!(made, "CN=ann, O=ops", "{sort:?}");
    }
}

#[test]
fn names_that_stand_together_are_read_one_by_one() {
    let (asked, made) = signed(TOGETHER);
    assert_eq!(asked, "ann [\"ops\"] [] false");
    assert_eq!(made, "CN=ann, O=ops");
    assert_eq!(requested_groups(TOGETHER.as_bytes()).unwrap(), ["ops"]);
}

#[test]
fn of_two_names_the_last_counts_as_in_the_certificate() {
    // The library takes another name of the same thing for something else.
    let again = DnType::CustomDnType(vec![2, 5, 4, 3]);
    let names = [(DnType::CommonName, "ann"), (again, "root")];
    let (asked, made) = signed(&request(&names, &PKCS_ECDSA_P256_SHA256));
    assert_eq!(asked, "root [] [\"a.example\"] true");
    assert_eq!(made, "CN=root");
}
