//! What keeps the objects: from what was typed to what it means.

use std::path::Path;
use std::time::Duration;

use apiserver::{EtcdOptions, EtcdTls, EtcdUser};
use cli::Failure;

use crate::arguments::{Storage, StoreKind};

/// Reads the files the flags name.
pub(crate) fn storage(typed: &Storage) -> Result<apiserver::Storage, Failure> {
    if typed.store == StoreKind::Embedded {
        if typed.etcd_servers.is_empty() {
            return Ok(apiserver::Storage::Embedded);
        }
        return Err(Failure::refused(
            "--etcd-servers is given, but objects are kept in the data directory",
            "add --store etcd",
        ));
    }
    let mut options = EtcdOptions::new(
        typed.etcd_servers.iter().cloned(),
        typed.etcd_prefix.as_str(),
    );
    let identity = match (&typed.etcd_certfile, &typed.etcd_keyfile) {
        (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
        _ => None,
    };
    if let Some(authority) = &typed.etcd_cafile {
        options.tls = Some(EtcdTls {
            ca: read(authority)?,
            identity,
            server_name: None,
        });
    } else if identity.is_some() {
        return Err(Failure::refused(
            "--etcd-certfile is given without --etcd-cafile",
            "name the authority that signed etcd's certificates",
        ));
    }
    if let (Some(name), Some(password)) = (&typed.etcd_username, &typed.etcd_password_file) {
        options.user = Some(EtcdUser {
            name: name.clone(),
            password: read(password)?.trim_end().to_owned(),
        });
    }
    let seconds = typed.etcd_compaction_seconds;
    let compaction = (seconds > 0).then(|| Duration::from_secs(seconds));
    Ok(apiserver::Storage::Etcd {
        options: Box::new(options),
        compaction,
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    cli::read_text(path).map_err(|why| why.of("", &path.display().to_string()))
}
