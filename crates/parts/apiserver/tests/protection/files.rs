//! What lies in the data directory is its owner's alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use karavel_apiserver::{Security, Storage};

use crate::served::Served;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_objects_are_taken_from_others_who_could_read_them() {
    let directory = tempfile::tempdir().unwrap();
    let start = || Served::start(directory.path(), Storage::Embedded, Security::default());
    let served = start().await.unwrap();
    served.stop().await;
    let at = |name: &str| directory.path().join(name);
    let files = ["pki/sa.key", "pki/ca.key", "pki/encryption.key"];
    for name in files {
        assert_eq!(mode(&at(name)), 0o600, "{name}");
        fs::set_permissions(at(name), Permissions::from_mode(0o644)).unwrap();
    }
    for name in ["pki", "store"] {
        assert_eq!(mode(&at(name)), 0o700, "{name}");
        fs::set_permissions(at(name), Permissions::from_mode(0o755)).unwrap();
    }
    start().await.unwrap().stop().await;
    for name in files {
        assert_eq!(mode(&at(name)), 0o600, "{name}");
    }
    for name in ["pki", "store"] {
        assert_eq!(mode(&at(name)), 0o700, "{name}");
    }
    assert_eq!(mode(&at("kubeconfig")), 0o600);
}
