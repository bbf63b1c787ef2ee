//! A disk that can be taken away: remembers every write and every sync, fails on demand, and shows what a machine
//! would find after losing power at any moment. The model of what may be lost is that of `DESIGN.md`.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crate::embedded::disk::{Disk, DiskFile};

/// What is written as one piece or not at all.
const SECTOR: usize = 512;

/// Files by name.
pub(crate) type Image = BTreeMap<String, Vec<u8>>;

/// What a caller knows and relies on from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// A transaction is durable.
    Committed(u64),
    /// History before a revision is gone.
    Compacted(u64),
    /// The entry of this revision lives until then.
    Renewed { modified: u64, deadline: u64 },
    /// It is so late, in milliseconds since 1970.
    Time(u64),
}

/// Something that was done to the disk, or a note of the test's.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Create {
        name: String,
        file: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        name: String,
    },
    SyncDirectory,
    Write {
        file: usize,
        offset: usize,
        bytes: Vec<u8>,
    },
    SetLen {
        file: usize,
        len: usize,
    },
    Sync {
        file: usize,
    },
    /// A sync failed: what was not synced stays readable until the machine stops, but no later sync will write it.
    FailedSync {
        file: usize,
    },
    /// No act: what callers had been told by then.
    Told(Told),
}

/// How the disk fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// Only the n-th act, half done.
    Once(usize),
    /// Every write from the n-th act on, the first half done; syncs go on to succeed.
    Full(usize),
    /// Every act from the n-th on.
    Gone(usize),
}

/// What is left of writes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// Nothing.
    All,
    /// Everything.
    None,
    /// Any subset of sectors, chosen by the seed.
    Some(u64),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
    log: Vec<Act>,
    /// Acts tried so far, notes apart.
    acts: usize,
    failure: Option<Failure>,
}

impl FaultyDisk {
    /// A disk that holds some files, all of it synced.
    pub(crate) fn with(image: &Image) -> Self {
        let disk = Self::default();
        {
            let mut inner = disk.0.lock().unwrap();
            for (name, content) in image {
                let file = inner.files.len();
                inner.files.push(content.clone());
                inner.names.insert(name.clone(), file);
            }
        }
        disk
    }

    pub(crate) fn fail(self, failure: Failure) -> Self {
        self.0.lock().unwrap().failure = Some(failure);
        self
    }

    /// Lets the disk work again, as after a restart of the process.
    pub(crate) fn mend(&self) {
        self.0.lock().unwrap().failure = None;
    }

    pub(crate) fn note(&self, act: Act) {
        self.0.lock().unwrap().log.push(act);
    }

    pub(crate) fn log(&self) -> Vec<Act> {
        self.0.lock().unwrap().log.clone()
    }

    fn act(&self, act: Act) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.acts += 1;
        let number = inner.acts;
        let grows = matches!(
            act,
            Act::Write { .. } | Act::SetLen { .. } | Act::Create { .. }
        );
        let (fails, full) = match inner.failure {
            Some(Failure::Once(at)) => (number == at, false),
            Some(Failure::Full(at)) => (number >= at && grows, true),
            Some(Failure::Gone(at)) => (number >= at, false),
            None => (false, false),
        };
        if !fails {
            inner.perform(&act);
            inner.log.push(act);
            return Ok(());
        }
        match act {
            Act::Write {
                file,
                offset,
                bytes,
            } => {
                let half = Act::Write {
                    file,
                    offset,
                    bytes: bytes[..bytes.len() / 2].to_vec(),
                };
                inner.perform(&half);
                inner.log.push(half);
            }
            Act::Sync { file } => inner.log.push(Act::FailedSync { file }),
            _ => {}
        }
        Err(if full {
            io::ErrorKind::StorageFull.into()
        } else {
            io::Error::other("injected failure")
        })
    }
}

impl Inner {
    fn perform(&mut self, act: &Act) {
        match act {
            Act::Create { name, file } => {
                assert_eq!(*file, self.files.len());
                self.files.push(Vec::new());
                self.names.insert(name.clone(), *file);
            }
            Act::Rename { .. } | Act::Remove { .. } => perform_named(&mut self.names, act),
            Act::Write { file, .. } | Act::SetLen { file, .. } => {
                perform_on(&mut self.files[*file], act)
            }
            Act::SyncDirectory | Act::Sync { .. } | Act::FailedSync { .. } | Act::Told(_) => {}
        }
    }
}

fn perform_named(names: &mut BTreeMap<String, usize>, act: &Act) {
    match act {
        Act::Create { name, file } => {
            names.insert(name.clone(), *file);
        }
        Act::Rename { from, to } => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Act::Remove { name } => {
            names.remove(name);
        }
        _ => {}
    }
}

fn perform_on(content: &mut Vec<u8>, act: &Act) {
    match act {
        Act::Write { offset, bytes, .. } => {
            let end = offset + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(bytes);
        }
        Act::SetLen { len, .. } => content.resize(*len, 0),
        _ => {}
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: FaultyDisk,
    file: usize,
}

impl Disk for FaultyDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.0.lock().unwrap().names.get(name).copied();
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(FaultyFile {
            disk: self.clone(),
            file,
        }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.0.lock().unwrap().files.len();
        if self.0.lock().unwrap().names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.act(Act::Create {
            name: name.to_owned(),
            file,
        })?;
        Ok(Arc::new(FaultyFile {
            disk: self.clone(),
            file,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.act(Act::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.act(Act::Remove {
            name: name.to_owned(),
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.act(Act::SyncDirectory)
    }
}

impl DiskFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().unwrap().files[self.file].len() as u64)
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let inner = self.disk.0.lock().unwrap();
        let start = usize::try_from(offset).unwrap();
        let found = inner.files[self.file].get(start..start + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        self.disk.act(Act::Write {
            file: self.file,
            offset,
            bytes: bytes.to_vec(),
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.act(Act::SetLen {
            file: self.file,
            len: usize::try_from(len).unwrap(),
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.act(Act::Sync { file: self.file })
    }
}

/// What is certain on a disk, and what is not, while acts go by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Platter {
    names: BTreeMap<String, usize>,
    named: Vec<Act>,
    files: BTreeMap<usize, Content>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    unsynced: Vec<Act>,
}

impl Platter {
    pub(crate) fn with(image: &Image) -> Self {
        let mut platter = Self::default();
        for (file, (name, content)) in image.iter().enumerate() {
            platter.names.insert(name.clone(), file);
            platter.files.insert(
                file,
                Content {
                    synced: content.clone(),
                    unsynced: Vec::new(),
                },
            );
        }
        platter
    }

    /// Lets an act go by.
    pub(crate) fn take(&mut self, act: &Act) {
        match act {
            Act::Create { file, .. } => {
                self.files.insert(*file, Content::default());
                self.named.push(act.clone());
            }
            Act::Rename { .. } | Act::Remove { .. } => self.named.push(act.clone()),
            Act::SyncDirectory => {
                for act in std::mem::take(&mut self.named) {
                    perform_named(&mut self.names, &act);
                }
            }
            Act::Write { file, .. } | Act::SetLen { file, .. } => {
                self.files
                    .entry(*file)
                    .or_default()
                    .unsynced
                    .push(act.clone());
            }
            Act::Sync { file } => {
                let content = self.files.entry(*file).or_default();
                for act in std::mem::take(&mut content.unsynced) {
                    perform_on(&mut content.synced, &act);
                }
            }
            Act::FailedSync { file } => self.files.entry(*file).or_default().unsynced.clear(),
            Act::Told(_) => {}
        }
    }

    /// What is found after the power was lost here.
    pub(crate) fn image(&self, loss: Loss) -> Image {
        let mut chance = Chance(match loss {
            Loss::Some(seed) => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            _ => 1,
        });
        let mut names = self.names.clone();
        let kept = match loss {
            Loss::All => 0,
            Loss::None => self.named.len(),
            Loss::Some(_) => chance.below(self.named.len() + 1),
        };
        for act in &self.named[..kept] {
            perform_named(&mut names, act);
        }
        let content = |file: &usize| {
            let content = &self.files[file];
            let mut found = content.synced.clone();
            match loss {
                Loss::All => {}
                Loss::None => content
                    .unsynced
                    .iter()
                    .for_each(|act| perform_on(&mut found, act)),
                Loss::Some(_) => content
                    .unsynced
                    .iter()
                    .for_each(|act| perform_partly(&mut found, act, &mut chance)),
            }
            found
        };
        let mut image = Image::new();
        let mut content = content;
        for (name, file) in &names {
            image.insert(name.clone(), content(file));
        }
        image
    }
}

fn perform_partly(content: &mut Vec<u8>, act: &Act, chance: &mut Chance) {
    let Act::Write {
        file,
        offset,
        bytes,
    } = act
    else {
        if chance.below(2) == 0 {
            perform_on(content, act);
        }
        return;
    };
    let mut start = 0;
    while start < bytes.len() {
        // Sectors lie at multiples of their size in the file.
        let end = (start + SECTOR - (offset + start) % SECTOR).min(bytes.len());
        if chance.below(2) == 0 {
            let part = Act::Write {
                file: *file,
                offset: offset + start,
                bytes: bytes[start..end].to_vec(),
            };
            perform_on(content, &part);
        }
        start = end;
    }
}

/// A small random sequence: xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % bound as u64).unwrap()
    }
}
