//! What would stop a role on its way up, said before anything is begun.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cli::Failure;

/// Whether a directory can be made and written to.
pub(crate) fn check_directory(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let hint = "choose a directory you own with --data-dir";
    if let Err(error) = std::fs::create_dir_all(path) {
        let what = match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                format!("the data directory {shown} is not a directory")
            }
            _ => format!("the data directory {shown} cannot be made: {error}"),
        };
        return Err(Failure::refused(what, hint));
    }
    let probe = path.join(format!(".probe-{}", std::process::id()));
    match std::fs::write(&probe, b"") {
        Ok(()) => {
            let _ = std::fs::remove_file(&probe);
            Ok(())
        }
        Err(error) => {
            let owner = std::fs::metadata(path).map(|about| about.uid());
            let me = rustix::process::geteuid().as_raw();
            let what = match owner {
                Ok(owner) if owner != me => format!(
                    "the data directory {shown} belongs to another user (uid {owner}; this is {me})"
                ),
                _ => format!("the data directory {shown} cannot be written to: {error}"),
            };
            Err(Failure::refused(what, hint))
        }
    }
}

/// Whether all addresses are free. Between this look and the use somebody else may come; that is told too, less nicely.
pub(crate) fn check_addresses(addresses: &[(String, SocketAddr)]) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for (who, address) in addresses.iter().filter(|(_, address)| address.port() != 0) {
        if let Err(error) = TcpListener::bind(address) {
            let why = match error.kind() {
                ErrorKind::AddrInUse => "it is in use by another process".to_owned(),
                ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
                ErrorKind::PermissionDenied => "ports below 1024 are for root".to_owned(),
                _ => error.to_string(),
            };
            taken.push(format!("{who} cannot listen on {address}: {why}"));
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        taken.join("\nerror: "),
        "stop what runs there, or choose other ports: --listen 127.0.0.1:7443, or port 0 for any",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_who_wants_it() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = door.local_addr().unwrap();
        let wanted = [("member1".to_owned(), address)];
        let failure = check_addresses(&wanted).unwrap_err();
        let expected =
            format!("member1 cannot listen on {address}: it is in use by another process");
        assert_eq!(failure.to_string(), expected);
        drop(door);
        let any = [("member1".to_owned(), "127.0.0.1:0".parse().unwrap())];
        assert!(check_addresses(&any).is_ok());
    }

    #[test]
    fn a_file_is_no_data_directory() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let said = |path: &Path| check_directory(path).unwrap_err().to_string();
        assert!(
            said(&file).contains("is not a directory"),
            "{}",
            said(&file)
        );
        assert!(
            said(&file.join("below")).contains("not a directory"),
            "{}",
            said(&file.join("below"))
        );
        assert!(check_directory(&directory.path().join("a/b")).is_ok());
    }
}
