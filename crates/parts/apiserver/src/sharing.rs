//! Servers on one etcd are one server: they share the authority and the key that signs tokens, through the store.
//!
//! The first server to start publishes its own, sealed with the encryption key; every other one takes what it finds. So a
//! further server needs one file: `pki/encryption.key`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use access::keys::Keys;
use listen::Authority;
use object::Value;
use serde_json::json;
use store::{CommitError, Expect, Key, ReadError, Store, Txn};

use crate::sealing::SHARED;

/// Files that belong together: the name they are shared under, and the files.
const SETS: [(&str, &[&str]); 2] = [
    ("authority", &["ca.crt", "ca.key"]),
    ("accounts", &["sa.key"]),
];

/// Why keys cannot be shared.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files here are not those the other servers use.
    #[error(
        "{} differs from what the other servers on this etcd use, whose clients would not be believed here; move it away to take theirs", path.display()
    )]
    Differs {
        /// Which.
        path: PathBuf,
    },
    /// What was published is not what a server publishes.
    #[error("the keys shared through the store cannot be read")]
    Unreadable,
    /// There is no authority to publish.
    #[error("cannot make a certificate authority")]
    Authority(#[from] listen::AuthorityError),
    /// There is no key to publish.
    #[error("cannot make a key for service accounts")]
    Keys(#[from] access::keys::KeysError),
    /// The store cannot be read.
    #[error("cannot read the store")]
    Store(#[from] ReadError),
    /// The store cannot be written.
    #[error("cannot write the store")]
    Commit(#[from] CommitError),
}

/// Makes the files of a directory those that all servers on a store use. `with_authority` is false when the authority
/// comes from files of its own.
pub(crate) async fn share(
    store: &Store,
    pki: &Path,
    with_authority: bool,
) -> Result<(), SharingError> {
    for (name, files) in SETS {
        if name == "authority" && !with_authority {
            continue;
        }
        let had = read(pki, files)?;
        let published = find(store, name).await?;
        let published = match published {
            Some(published) => published,
            None => {
                // Makes what is missing, as at the start of a server that is alone.
                match name {
                    "authority" => drop(Authority::open(pki, SystemTime::now())?),
                    _ => drop(Keys::open(pki)?),
                }
                let made = read(pki, files)?.ok_or(SharingError::Unreadable)?;
                if publish(store, name, &made).await? {
                    continue;
                }
                find(store, name).await?.ok_or(SharingError::Unreadable)?
            }
        };
        take(pki, files, had.as_ref(), &published)?;
    }
    Ok(())
}

/// Writes the published files, unless there are others of one's own.
fn take(
    pki: &Path,
    files: &[&str],
    had: Option<&Value>,
    published: &Value,
) -> Result<(), SharingError> {
    for file in files {
        let path = pki.join(file);
        let theirs = published.get(*file).and_then(Value::as_str);
        let theirs = theirs.ok_or(SharingError::Unreadable)?;
        match had.and_then(|had| had.get(*file)?.as_str()) {
            Some(ours) if ours == theirs => {}
            Some(_) => return Err(SharingError::Differs { path }),
            None => {
                listen::write_private(&path, theirs)
                    .map_err(|source| SharingError::Write { path, source })?;
            }
        }
    }
    Ok(())
}

/// The files of a set; `None` if one of them is not there.
fn read(pki: &Path, files: &[&str]) -> Result<Option<Value>, SharingError> {
    let mut set = json!({});
    for file in files {
        let path = pki.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => set[*file] = json!(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SharingError::Read { path, source }),
        }
    }
    Ok(Some(set))
}

async fn find(store: &Store, name: &str) -> Result<Option<Value>, SharingError> {
    let Some(entry) = store.get(&key(name), None).await? else {
        return Ok(None);
    };
    let set = serde_json::from_slice(&entry.value).map_err(|_| SharingError::Unreadable)?;
    Ok(Some(set))
}

/// Publishes a set; `false` if somebody else was quicker.
async fn publish(store: &Store, name: &str, set: &Value) -> Result<bool, SharingError> {
    let txn = Txn::new()
        .check(key(name), Expect::Absent)
        .put(key(name), set.to_string());
    match store.commit(txn).await {
        Ok(_) => Ok(true),
        Err(CommitError::Conflict(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn key(name: &str) -> Key {
    Key::new(format!("{SHARED}{name}")).expect("invariant: the names of sets are short")
}

#[cfg(test)]
mod tests {
    use store::embedded::Retention;
    use store::memory::Memory;

    use super::*;

    #[tokio::test]
    async fn the_second_server_takes_the_keys_of_the_first_and_a_third_with_its_own_is_refused() {
        let store = Store::Memory(Memory::new(Retention::default()));
        let [first, second, third] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        share(&store, first.path(), true).await.unwrap();
        share(&store, second.path(), true).await.unwrap();
        for (_, files) in SETS {
            let (a, b) = (read(first.path(), files), read(second.path(), files));
            assert_eq!(a.unwrap().unwrap(), b.unwrap().unwrap());
        }
        // A restart changes nothing.
        share(&store, second.path(), true).await.unwrap();
        Authority::open(third.path(), SystemTime::now()).unwrap();
        let refused = share(&store, third.path(), true).await;
        assert!(matches!(refused, Err(SharingError::Differs { .. })));
        std::fs::remove_file(third.path().join("ca.crt")).unwrap();
        std::fs::remove_file(third.path().join("ca.key")).unwrap();
        share(&store, third.path(), true).await.unwrap();
    }
}
