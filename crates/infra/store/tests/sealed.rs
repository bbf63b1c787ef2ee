//! A store with sealed values does what every store must, and nobody below it reads them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(dead_code, reason = "the scenario of a restart is not for this store")]

// The name the other crates know this one by.
extern crate karavel_store as store;

mod conformance;

use std::time::Duration;

use bytes::Bytes;
use conformance::{Subject, key, random_histories, scenarios};
use store::embedded::{Embedded, Options, Retention, restore};
use store::memory::Memory;
use store::sealed::{Keyring, Resealed, Sealed, reseal};
use store::{Query, ReadError, Revision, Store, Txn};

struct SealedInMemory;

impl Subject for SealedInMemory {
    async fn open(&self) -> Store {
        let memory = Store::Memory(Memory::new(Retention::default()));
        let ring = Keyring::parse(&Keyring::generate().unwrap()).unwrap();
        // Half of the keys the histories use.
        let prefixes = ["a", "c", "/a", "/c", "k"].map(Bytes::from).to_vec();
        Store::Sealed(Sealed::new(memory, ring, prefixes))
    }

    async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
    }

    fn tick(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn has_cheap_time(&self) -> bool {
        false // The histories' runtime does not hold the clock; the scenarios' do.
    }

    fn outlives_closing(&self) -> bool {
        false
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    random_histories(64, || SealedInMemory);
}

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                scenarios::$name(SealedInMemory).await;
            }
        )*
    };
}

scenarios! {
    a_waiting_watch_hears_of_a_change,
    progress_covers_what_was_acknowledged,
    a_watch_may_begin_in_the_future,
    one_of_many_rivals_wins,
    concurrent_writes_are_seen_in_one_order,
    pages_of_one_revision_are_consistent,
    keys_live_as_long_as_they_were_given,
    a_closed_store_says_so,
}

const PLANTED: &[u8] = b"tulip-9f2c";

/// A store in a directory that seals `/secrets/` with the keys of a file.
fn sealed(directory: &std::path::Path, file: &str) -> Sealed {
    let engine = Embedded::open(directory, Options::default()).unwrap();
    let ring = Keyring::parse(file).unwrap();
    Sealed::new(
        Store::Embedded(engine),
        ring,
        vec![Bytes::from("/secrets/")],
    )
}

fn has_planted(bytes: &[u8]) -> bool {
    bytes.windows(PLANTED.len()).any(|window| window == PLANTED)
}

async fn values(store: &Store) -> Result<Vec<Bytes>, ReadError> {
    let page = store.range(&Query::prefix("/")).await?;
    Ok(page
        .entries
        .iter()
        .map(|entry| entry.value.clone())
        .collect())
}

#[tokio::test]
async fn neither_files_nor_backups_have_a_sealed_value_and_restoring_needs_the_key() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = Keyring::generate().unwrap();
    let store = sealed(directory.path(), &file);
    let whole = Store::Sealed(store.clone());
    let put = Txn::new()
        .put(key("/secrets/a"), PLANTED)
        .put(key("/open/a"), "in the clear");
    whole.commit(put).await.unwrap();
    let Store::Embedded(engine) = store.below() else {
        panic!("it was opened on a directory");
    };
    let mut backup = Vec::new();
    engine.backup(&mut backup).unwrap();
    assert!(!has_planted(&backup));
    whole.close().await;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert!(!has_planted(&bytes), "{}", path.display());
    }
    restore(elsewhere.path(), backup.as_slice()).unwrap();
    let stranger = Store::Sealed(sealed(elsewhere.path(), &Keyring::generate().unwrap()));
    let refused = values(&stranger).await.unwrap_err();
    let why = std::error::Error::source(&refused).unwrap().to_string();
    assert!(why.contains("add it to the key file"), "{why}");
    stranger.close().await;
    drop(stranger);
    let restored = Store::Sealed(sealed(elsewhere.path(), &file));
    assert_eq!(
        values(&restored).await.unwrap(),
        [Bytes::from("in the clear"), Bytes::from_static(PLANTED)]
    );
    restored.close().await;
}

#[tokio::test]
async fn values_are_sealed_anew_when_the_key_changes_and_the_old_one_is_then_not_needed() {
    let directory = tempfile::tempdir().unwrap();
    let clear = Store::Embedded(Embedded::open(directory.path(), Options::default()).unwrap());
    for number in 0..300 {
        let put = Txn::new().put(key(&format!("/secrets/{number:03}")), PLANTED);
        clear.commit(put).await.unwrap();
    }
    clear.close().await;
    drop(clear);
    let (old, new) = (Keyring::generate().unwrap(), Keyring::generate().unwrap());
    let mut expected = 300;
    for file in [old.clone(), format!("{new}{old}")] {
        let store = sealed(directory.path(), &file);
        let mut pages = Vec::new();
        let done = reseal(&store, |done| pages.push(done.seen)).await.unwrap();
        assert_eq!(
            done,
            Resealed {
                seen: 300,
                sealed: expected
            }
        );
        assert_eq!(pages, [256, 300]);
        // A second time there is nothing left to do.
        assert_eq!(reseal(&store, |_| {}).await.unwrap().sealed, 0);
        Store::Sealed(store).close().await;
        expected = 300;
    }
    let store = Store::Sealed(sealed(directory.path(), &new));
    assert!(values(&store).await.unwrap().iter().all(|v| v == PLANTED));
    store.close().await;
}

#[tokio::test]
async fn a_value_moved_to_another_key_is_not_believed() {
    let memory = Store::Memory(Memory::new(Retention::default()));
    let ring = Keyring::parse(&Keyring::generate().unwrap()).unwrap();
    let store = Store::Sealed(Sealed::new(memory.clone(), ring, vec![Bytes::from("/s/")]));
    store
        .commit(Txn::new().put(key("/s/mine"), PLANTED))
        .await
        .unwrap();
    let kept = memory.get(&key("/s/mine"), None).await.unwrap().unwrap();
    assert!(!has_planted(&kept.value));
    let swap = Txn::new().put(key("/s/yours"), kept.value.clone());
    memory.commit(swap).await.unwrap();
    assert!(store.get(&key("/s/mine"), None).await.is_ok());
    assert!(store.get(&key("/s/yours"), None).await.is_err());
    assert!(store.range(&Query::prefix("/s/")).await.is_err());
    let mut watch = store.watch("/s/yours", Revision::ZERO).await.unwrap();
    assert!(watch.next().await.is_err());
}
