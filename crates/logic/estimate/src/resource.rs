//! Amounts of resources as integers, each resource in one unit.

use std::{fmt, sync::Arc};

use object::quantity::Quantity;

/// The name of a resource; the common ones without a string, so that comparing them costs nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// `cpu`, counted in thousandths.
    Cpu,
    /// `memory`, in bytes.
    Memory,
    /// `ephemeral-storage`, in bytes.
    EphemeralStorage,
    /// `pods`: places for pods.
    Pods,
    /// Any other, such as `nvidia.com/gpu`, in whole units.
    Named(Arc<str>),
}

impl Resource {
    /// The resource called `name`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            "pods" => Self::Pods,
            other => Self::Named(other.into()),
        }
    }

    /// Its name in the API.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Named(name) => name,
        }
    }

    /// The quantity in the unit of this resource, rounded up, at most what an `i64` holds.
    ///
    /// Upstream: sets of components are counted in a unit that follows how each quantity happens to be written, so
    /// that `1G` against `Ki` is a thousand times too much. One unit for each resource cannot go wrong that way.
    #[must_use]
    pub fn amount(&self, quantity: Quantity) -> i64 {
        match self {
            Self::Cpu => quantity.milli_value(),
            _ => quantity.value(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Amounts of several resources, each at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    // Invariant: sorted by resource, without duplicates.
    entries: Vec<(Resource, i64)>,
}

impl Amounts {
    /// No amounts.
    pub const NONE: Self = Self {
        entries: Vec::new(),
    };

    /// The amounts in a list of the API.
    #[must_use]
    pub fn of<'a>(list: impl IntoIterator<Item = (&'a String, &'a Quantity)>) -> Self {
        let entries = list.into_iter().map(|(name, quantity)| {
            let resource = Resource::named(name);
            let amount = resource.amount(*quantity);
            (resource, amount)
        });
        Self::collect(entries)
    }

    /// The amounts given; those of one resource are added up.
    pub fn collect(entries: impl IntoIterator<Item = (Resource, i64)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(name, amount), (kept, total)| {
            let same = name == kept;
            if same {
                *total = total.saturating_add(*amount);
            }
            same
        });
        Self { entries }
    }

    /// How much of `resource` there is; `None` if it is not mentioned.
    #[must_use]
    pub fn amount(&self, resource: &Resource) -> Option<i64> {
        // A handful of entries: a scan is quicker than a search.
        self.entries
            .iter()
            .find(|(name, _)| name == resource)
            .map(|(_, amount)| *amount)
    }

    /// The resources and their amounts, in the order of [`Resource`].
    pub fn iter(&self) -> impl Iterator<Item = (&Resource, i64)> {
        self.entries
            .iter()
            .map(|(resource, amount)| (resource, *amount))
    }

    /// Whether no resource is mentioned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The same with one amount replaced or added.
    #[must_use]
    pub fn with(mut self, resource: Resource, amount: i64) -> Self {
        match self
            .entries
            .binary_search_by(|(name, _)| name.cmp(&resource))
        {
            Ok(position) => {
                if let Some(entry) = self.entries.get_mut(position) {
                    entry.1 = amount;
                }
            }
            Err(position) => self.entries.insert(position, (resource, amount)),
        }
        self
    }

    /// Adds `times` of `other`.
    pub fn add(&mut self, other: &Self, times: i64) {
        for (resource, amount) in other.iter() {
            let more = amount.saturating_mul(times);
            match self
                .entries
                .binary_search_by(|(name, _)| name.cmp(resource))
            {
                Ok(position) => {
                    if let Some(entry) = self.entries.get_mut(position) {
                        entry.1 = entry.1.saturating_add(more);
                    }
                }
                Err(position) => self.entries.insert(position, (resource.clone(), more)),
            }
        }
    }

    /// Of each resource the greater amount.
    #[must_use]
    pub fn or_more(mut self, other: &Self) -> Self {
        for (resource, amount) in other.iter() {
            if self.amount(resource).is_none_or(|known| known < amount) {
                self = self.with(resource.clone(), amount);
            }
        }
        self
    }

    /// Takes `times` of `other` away from the resources mentioned here; others are not added.
    pub fn take(&mut self, other: &Self, times: i64) {
        for (resource, amount) in &mut self.entries {
            if let Some(part) = other.amount(resource) {
                *amount = amount.saturating_sub(part.saturating_mul(times));
            }
        }
    }

    /// How often `request` fits in here, and the resource that sets the limit; `None` when nothing is requested.
    ///
    /// A resource that is requested but not mentioned here does not exist, so nothing fits.
    #[must_use]
    pub fn fits<'a>(&self, request: &'a Self) -> Option<(i64, &'a Resource)> {
        self.fits_beside(request, &Self::NONE)
    }

    /// Like [`Amounts::fits`], after `taken` is put aside.
    #[must_use]
    pub fn fits_beside<'a>(&self, request: &'a Self, taken: &Self) -> Option<(i64, &'a Resource)> {
        let mut tightest = None;
        for (resource, wanted) in request.iter().filter(|(_, wanted)| *wanted > 0) {
            let room = self
                .amount(resource)
                .unwrap_or(0)
                .saturating_sub(taken.amount(resource).unwrap_or(0));
            let times = room.max(0) / wanted;
            if tightest.is_none_or(|(least, _)| times < least) {
                tightest = Some((times, resource));
            }
        }
        tightest
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (resource, amount)) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            let unit = if *resource == Resource::Cpu { "m" } else { "" };
            write!(f, "{separator}{resource} {amount}{unit}")?;
        }
        Ok(())
    }
}
