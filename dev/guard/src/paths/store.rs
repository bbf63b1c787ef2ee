//! The store, without the disk.

use anyhow::Result;
use store::embedded::Retention;
use store::memory::Memory;
use store::{Key, Txn};

pub(super) fn put(rounds: u32) -> Result<()> {
    let store = Memory::new(Retention::default());
    // As much beside it as a small control plane has.
    for index in 0..1000 {
        store.commit(Txn::new().put(key(index)?, VALUE))?;
    }
    for index in 0..rounds {
        store.commit(Txn::new().put(key(index)?, VALUE))?;
    }
    Ok(())
}

const VALUE: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"some","namespace":"shop"}}"#;

fn key(index: u32) -> Result<Key> {
    Ok(Key::new(format!("/registry/configmaps/shop/item-{index}"))?)
}
