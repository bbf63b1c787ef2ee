//! Who has which address and which port.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use object::time::Time;
use serve::cache::{Collection, Place};
use serve::record::Record;

use super::asked::asked_by;

/// The network services have their addresses from.
pub(super) const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 0);
/// How many bits of an address name the network.
pub(super) const NETWORK_BITS: u32 = 12;
/// Addresses before this one are for whoever asks for one by number.
const FIRST: u32 = 256;
/// The last but one of the network's: the last is for everybody.
const LAST: u32 = (1 << (32 - NETWORK_BITS)) - 2;
/// The ports nodes listen on for services.
pub(super) const NODE_PORTS: RangeInclusive<u16> = 30_000..=32_767;
/// Ports from here on are given out first; those before are for whoever asks for one by number.
const FIRST_PORT: u16 = 30_086;

/// What a service has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// As its address in the cluster.
    Address(Ipv4Addr),
    /// As one of its ports on the nodes.
    Port(u16),
}

/// What is given out, by the keys of services.
#[derive(Default)]
pub(super) struct Ledger {
    /// How far the services have been read.
    place: Option<Place>,
    held: BTreeMap<Claim, Arc<str>>,
    /// What was let through and may not be stored yet, and until when that is believed.
    promised: BTreeMap<Claim, (Arc<str>, Time)>,
    /// Where the search for an address begins, so that one just freed is not given out at once.
    next: u32,
}

impl Ledger {
    /// Takes in what services have by now, and forgets promises that are over.
    pub(super) fn follow(&mut self, services: &Collection, now: Time) {
        let news = self.place.map(|place| services.changes(place, usize::MAX));
        if let Some(Ok((changes, next))) = news {
            for change in changes {
                if let Some(before) = &change.previous {
                    self.release(before);
                }
                if let Some(after) = &change.current {
                    self.note(after);
                }
            }
            self.place = Some(next);
        } else {
            let (snapshot, place) = services.begin();
            self.held.clear();
            for record in snapshot.objects.values() {
                self.note(record);
            }
            self.place = Some(place);
        }
        self.promised.retain(|_, (_, until)| now < *until);
    }

    /// Whether a service may have something that it does not have.
    pub(super) fn is_free(&self, claim: Claim, service: &str) -> bool {
        let is_own = |owner: &Arc<str>| **owner == *service;
        self.held.get(&claim).is_none_or(is_own)
            && self
                .promised
                .get(&claim)
                .is_none_or(|(owner, _)| is_own(owner))
    }

    /// Keeps something for a service until it is stored.
    pub(super) fn promise(&mut self, claim: Claim, service: &str, until: Time) {
        self.promised.insert(claim, (service.into(), until));
    }

    /// An address nobody has.
    pub(super) fn free_address(&mut self) -> Option<Ipv4Addr> {
        let base = u32::from(NETWORK);
        let start = self.next.clamp(FIRST, LAST);
        let free = (start..=LAST)
            .chain(FIRST..start)
            .find(|host| self.is_unknown(Claim::Address((base + host).into())))?;
        self.next = free.saturating_add(1);
        Some((base + free).into())
    }

    /// A port of the nodes that nobody has, for a port of a service. Where the search begins follows from the service, so
    /// that clusters that know nothing of each other seldom give the same port to different services.
    pub(super) fn free_port(&self, service: &str, number: i64) -> Option<u16> {
        let band = NODE_PORTS.end() - FIRST_PORT + 1;
        // FNV-1a, 64 bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in service.bytes().chain(number.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let start = FIRST_PORT + u16::try_from(hash % u64::from(band)).unwrap_or(0);
        (start..=*NODE_PORTS.end())
            .chain(FIRST_PORT..start)
            .chain(*NODE_PORTS.start()..FIRST_PORT)
            .find(|port| self.is_unknown(Claim::Port(*port)))
    }

    fn is_unknown(&self, claim: Claim) -> bool {
        !self.held.contains_key(&claim) && !self.promised.contains_key(&claim)
    }

    fn note(&mut self, record: &Record) {
        let key: Arc<str> = key_of(record).into();
        for claim in claims_of(record) {
            // What is held is nobody's promise any more.
            self.promised.remove(&claim);
            self.held.insert(claim, Arc::clone(&key));
        }
    }

    fn release(&mut self, record: &Record) {
        let key = key_of(record);
        for claim in claims_of(record) {
            if self.held.get(&claim).is_some_and(|owner| **owner == *key) {
                self.held.remove(&claim);
            }
        }
    }
}

fn claims_of(record: &Record) -> Vec<Claim> {
    let asked = asked_by(&record.value());
    asked.iter().filter_map(|asked| asked.claim()).collect()
}

fn key_of(record: &Record) -> String {
    record.key().to_owned()
}
