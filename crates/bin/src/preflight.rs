//! What would stop a role on its way up, said before anything is begun.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use cli::Failure;

use crate::directory::{self, Beside, DataDirectory, Purpose};

/// What to do about ports that others have.
const IN_USE: &str =
    "stop what runs there, or choose other ports: --listen 127.0.0.1:7443, or port 0 for any";

/// Takes the directory and looks whether all addresses are free. Where nothing has begun, nothing is left behind if it
/// cannot; where something has, another process may be at it, which says more than that its ports are taken.
pub(crate) fn take(
    path: &Path,
    purpose: Purpose,
    beside: Beside,
    addresses: &[(String, SocketAddr)],
) -> Result<DataDirectory, Failure> {
    if !directory::is_begun(path) {
        check_addresses(addresses)?;
    }
    let held = directory::claim(path, purpose, beside)?;
    check_addresses(addresses)?;
    Ok(held)
}

/// Whether all addresses are free. Between this look and the use somebody else may come; that is told too, less nicely.
pub(crate) fn check_addresses(addresses: &[(String, SocketAddr)]) -> Result<(), Failure> {
    let mut taken = Vec::new();
    let mut hint = "";
    for (who, address) in addresses.iter().filter(|(_, address)| address.port() != 0) {
        if let Err(error) = TcpListener::bind(address) {
            let (why, advice) = match error.kind() {
                ErrorKind::AddrInUse => ("it is in use by another process".to_owned(), IN_USE),
                ErrorKind::AddrNotAvailable => (
                    "this machine has no such address".to_owned(),
                    "choose an address of this machine, such as --listen 127.0.0.1:5443",
                ),
                ErrorKind::PermissionDenied => (
                    "ports below 1024 are for root".to_owned(),
                    "choose a higher port, such as --listen 127.0.0.1:5443",
                ),
                _ => (error.to_string(), IN_USE),
            };
            hint = advice;
            taken.push(format!("{who} cannot listen on {address}: {why}"));
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(taken.join("\nerror: "), hint))
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
        assert!(failure.hint().contains("stop what runs there"));
        let elsewhere = [("member1".to_owned(), "192.0.2.1:5443".parse().unwrap())];
        let failure = check_addresses(&elsewhere).unwrap_err();
        assert!(failure.hint().contains("an address of this machine"));
        drop(door);
        let any = [("member1".to_owned(), "127.0.0.1:0".parse().unwrap())];
        assert!(check_addresses(&any).is_ok());
    }
}
