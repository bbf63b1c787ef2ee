//! Encryption at rest: the key file, and the mark in the store that says which keys are needed to read it.
//!
//! The mark keeps a server from making a new key for data that has one: after a restore, or as a further replica on the
//! same etcd. Keys that old values may still need stay in the mark until everything has been sealed with the first one.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use object::Value;
use serde_json::json;
use serve::cache;
use store::sealed::{KeyFileError, KeyId, Keyring, Sealed, reseal};
use store::{CommitError, Entry, Expect, Key, ReadError, Store, Txn};

use crate::security::Encryption;

/// Where the mark is. Outside of [`cache::ROOT`], so that it is no object.
const MARK: &str = "/karavel/sealing";
/// What servers on one store share, sealed whatever else is.
pub(crate) const SHARED: &str = "/karavel/keys/";
/// What the key file is called that a server makes for itself.
const KEY_FILE: &str = "encryption.key";
/// How often the mark is tried to be written while others write it too.
const ATTEMPTS: usize = 8;

/// Why what is stored cannot be encrypted, or not be read.
#[derive(Debug, thiserror::Error)]
pub enum SealingError {
    /// The key file cannot be read.
    #[error("cannot read the encryption keys in {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The first key cannot be written.
    #[error("cannot write the encryption key to {}", path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no key file.
    #[error("cannot use the encryption keys in {}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: KeyFileError,
    },
    /// Others than the owner may read the file.
    #[error("{} can be read by others than its owner; chmod 600 it", path.display())]
    Exposed {
        /// Which.
        path: PathBuf,
    },
    /// What is stored needs a key that is not here.
    #[error(
        "what is stored is encrypted with key {id}, which is not in {}; bring the key file of the server that wrote it (pki/encryption.key in its data directory), or name it with --encryption-key-file", path.display()
    )]
    Missing {
        /// The key's name.
        id: KeyId,
        /// Where keys were looked for.
        path: PathBuf,
    },
    /// The mark in the store is not readable.
    #[error("the note of encryption keys in the store cannot be read")]
    Mark,
    /// The store cannot be read.
    #[error("cannot read the store")]
    Store(#[from] ReadError),
    /// The store cannot be written.
    #[error("cannot write the store")]
    Commit(#[from] CommitError),
}

/// A store whose secrets are sealed, and whether everything in it is sealed with the first key already.
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) unfinished: Option<Unfinished>,
}

/// Values that are to be sealed anew.
pub(crate) struct Unfinished {
    sealed: Sealed,
    id: KeyId,
}

/// The keys a store needs, as its mark says.
struct Mark {
    ids: Vec<KeyId>,
    entry: Option<Arc<Entry>>,
}

/// Seals what is written to a store from now on.
pub(crate) async fn open(
    store: Store,
    pki: &Path,
    encryption: &Encryption,
) -> Result<Opened, SealingError> {
    let mark = Mark::read(&store).await?;
    if encryption.resources.is_empty() && mark.ids.is_empty() {
        return Ok(Opened {
            store,
            unfinished: None,
        });
    }
    let own = pki.join(KEY_FILE);
    let path = encryption.key_file.clone().unwrap_or_else(|| own.clone());
    if path == own && !path.exists() {
        if let Some(id) = mark.ids.first() {
            return Err(SealingError::Missing { id: *id, path });
        }
        let unmade = |source| SealingError::Unusable {
            path: path.clone(),
            source,
        };
        let made = Keyring::generate().map_err(unmade)?;
        listen::write_private(&path, &made).map_err(|source| SealingError::Write {
            path: path.clone(),
            source,
        })?;
    }
    if path == own {
        listen::keep_private(&path).map_err(|source| SealingError::Read {
            path: path.clone(),
            source,
        })?;
    }
    let ring = load(&path, path == own)?;
    if let Some(id) = mark.ids.iter().find(|id| !ring.has(**id)) {
        return Err(SealingError::Missing { id: *id, path });
    }
    let id = ring.id();
    let unfinished = mark.ids != [id];
    add_to_mark(&store, &ring, &path).await?;
    let mut prefixes: Vec<Bytes> = encryption
        .resources
        .iter()
        .map(|name| prefix(name))
        .collect();
    prefixes.push(SHARED.into());
    let sealed = Sealed::new(store, ring, prefixes);
    Ok(Opened {
        unfinished: unfinished.then(|| Unfinished {
            sealed: sealed.clone(),
            id,
        }),
        store: Store::Sealed(sealed),
    })
}

impl Unfinished {
    /// Seals everything with the first key and then says so. Can be cut short and begun again.
    pub(crate) async fn finish(self) {
        match self.try_finishing().await {
            Ok(sealed) => tracing::info!(
                key = %self.id, sealed,
                "everything to be encrypted is encrypted with the first key; older keys are not needed any more"
            ),
            // The next start goes on.
            Err(error) => {
                tracing::error!(error = %telemetry::chain(&error), "encryption of older values stopped");
            }
        }
    }

    async fn try_finishing(&self) -> Result<u64, SealingError> {
        let mut pages = 0_u64;
        let done = reseal(&self.sealed, |done| {
            pages += 1;
            // A page is 256 values: a line for every 10,000 or so.
            if pages.is_multiple_of(40) {
                tracing::info!(
                    seen = done.seen,
                    sealed = done.sealed,
                    "encrypting older values"
                );
            }
        })
        .await?;
        let below = self.sealed.below();
        let mark = Mark::read(below).await?;
        // Another server may have begun with yet another key meanwhile; then its own run will end this.
        if mark.ids.last() == Some(&self.id) {
            write_mark(below, &mark, &[self.id]).await?;
        }
        Ok(done.sealed)
    }
}

impl Mark {
    async fn read(store: &Store) -> Result<Self, SealingError> {
        let entry = store.get(&mark_key(), None).await?;
        let Some(entry) = entry else {
            return Ok(Self {
                ids: Vec::new(),
                entry: None,
            });
        };
        let value: Value = serde_json::from_slice(&entry.value).map_err(|_| SealingError::Mark)?;
        let ids = value.get("keys").and_then(Value::as_array);
        let ids = ids.into_iter().flatten().map(|id| {
            let id = id.as_str().and_then(KeyId::parse);
            id.ok_or(SealingError::Mark)
        });
        Ok(Self {
            ids: ids.collect::<Result<_, _>>()?,
            entry: Some(entry),
        })
    }
}

/// Notes that values may be sealed with the first key of a ring from now on; refuses if others need a key not in it.
async fn add_to_mark(store: &Store, ring: &Keyring, path: &Path) -> Result<(), SealingError> {
    for _ in 0..ATTEMPTS {
        let mark = Mark::read(store).await?;
        if let Some(id) = mark.ids.iter().find(|id| !ring.has(**id)) {
            return Err(SealingError::Missing {
                id: *id,
                path: path.to_owned(),
            });
        }
        if mark.ids.last() == Some(&ring.id()) {
            return Ok(());
        }
        let mut ids = mark.ids.clone();
        ids.retain(|id| *id != ring.id());
        ids.push(ring.id());
        if write_mark(store, &mark, &ids).await? {
            return Ok(());
        }
    }
    Err(SealingError::Mark)
}

/// Writes the mark if nobody else did meanwhile.
async fn write_mark(store: &Store, before: &Mark, ids: &[KeyId]) -> Result<bool, SealingError> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let expected = before
        .entry
        .as_ref()
        .map_or(Expect::Absent, |entry| Expect::ModifiedAt(entry.modified));
    let txn = Txn::new()
        .check(mark_key(), expected)
        .put(mark_key(), json!({"keys": ids}).to_string());
    match store.commit(txn).await {
        Ok(_) => Ok(true),
        Err(CommitError::Conflict(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn load(path: &Path, is_own: bool) -> Result<Keyring, SealingError> {
    let unread = |source| SealingError::Read {
        path: path.to_owned(),
        source,
    };
    let mode = std::fs::metadata(path)
        .map_err(unread)?
        .permissions()
        .mode();
    // A file that somebody else mounts has the permissions they chose.
    if is_own && mode & 0o077 != 0 {
        return Err(SealingError::Exposed {
            path: path.to_owned(),
        });
    }
    let text = std::fs::read_to_string(path).map_err(unread)?;
    Keyring::parse(&text).map_err(|source| SealingError::Unusable {
        path: path.to_owned(),
        source,
    })
}

/// Where the objects of a resource are, given as `plural` or `plural.group`.
fn prefix(resource: &str) -> Bytes {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    format!("{}{}/", cache::ROOT, cache::name_of(group, plural)).into()
}

fn mark_key() -> Key {
    Key::new(MARK).expect("invariant: the mark's key is short")
}

#[cfg(test)]
mod tests {
    use store::embedded::Retention;
    use store::memory::Memory;

    use super::*;

    fn memory() -> Store {
        Store::Memory(Memory::new(Retention::default()))
    }

    async fn shown(store: &Store, pki: &Path, encryption: &Encryption) -> String {
        match open(store.clone(), pki, encryption).await {
            Ok(opened) => match (opened.store, opened.unfinished) {
                (Store::Sealed(_), Some(_)) => "sealed, unfinished".to_owned(),
                (Store::Sealed(_), None) => "sealed".to_owned(),
                _ => "open".to_owned(),
            },
            Err(SealingError::Missing { .. }) => "a key is missing".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn a_store_that_was_sealed_is_never_opened_with_a_new_key() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = memory();
        let usual = Encryption::default();
        let off = Encryption {
            resources: Vec::new(),
            ..usual.clone()
        };
        assert_eq!(shown(&store, here.path(), &off).await, "open");
        assert_eq!(
            shown(&store, here.path(), &usual).await,
            "sealed, unfinished"
        );
        // Another directory is another machine, or one that was restored.
        assert_eq!(
            shown(&store, there.path(), &usual).await,
            "a key is missing"
        );
        assert!(!there.path().join(KEY_FILE).exists());
        assert_eq!(shown(&store, there.path(), &off).await, "a key is missing");
        let named = Encryption {
            key_file: Some(here.path().join(KEY_FILE)),
            ..usual.clone()
        };
        let opened = open(store.clone(), there.path(), &named).await.unwrap();
        assert!(opened.unfinished.is_none(), "the mark is complete by then");
    }

    #[tokio::test]
    async fn a_new_first_key_needs_the_old_one_until_everything_is_sealed_anew() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join(KEY_FILE);
        let (store, usual) = (memory(), Encryption::default());
        let opened = open(store.clone(), here.path(), &usual).await.unwrap();
        let secret = Key::new("/registry/core/secrets/default/s").unwrap();
        let put = Txn::new().put(secret.clone(), "{}");
        opened.store.commit(put).await.unwrap();
        let old = std::fs::read_to_string(&file).unwrap();
        let new = Keyring::generate().unwrap();
        listen::write_private(&file, &new).unwrap();
        assert_eq!(shown(&store, here.path(), &usual).await, "a key is missing");
        listen::write_private(&file, &format!("{new}{old}")).unwrap();
        let opened = open(store.clone(), here.path(), &usual).await.unwrap();
        opened.unfinished.unwrap().finish().await;
        listen::write_private(&file, &new).unwrap();
        let opened = open(store.clone(), here.path(), &usual).await.unwrap();
        assert!(opened.unfinished.is_none());
        let kept = opened.store.get(&secret, None).await.unwrap().unwrap();
        assert_eq!(&*kept.value, b"{}");
    }
}
