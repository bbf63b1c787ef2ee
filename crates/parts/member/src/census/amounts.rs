//! Amounts of resources as small integers, each resource under a number instead of its name.
//!
//! A member has thousands of nodes and tens of thousands of pods, and nearly all of them name the same few resources.
//! [`Names`] keeps each name once; everything else holds a number of two bytes.

use api::kubernetes::ResourceList;
use object::{
    Map,
    quantity::{Format, Quantity},
};

/// The number of a resource's name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceId(u16);

impl ResourceId {
    /// `cpu`, counted in thousandths.
    pub(crate) const CPU: Self = Self(0);
    /// `pods`: places for pods.
    pub(crate) const PODS: Self = Self(1);
}

/// The names of resources, each once. There are few, and they are kept for good.
#[derive(Debug)]
pub(crate) struct Names {
    names: Vec<String>,
}

/// Amounts of several resources, each at most once, in no order: CPU in thousandths, all others in whole units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts(Vec<(ResourceId, i64)>);

impl Names {
    pub(crate) fn new() -> Self {
        // In the order of the constants of `ResourceId`.
        Self {
            names: vec!["cpu".to_owned(), "pods".to_owned()],
        }
    }

    /// The number of a name; `None` once there are more names than numbers, which no honest cluster has.
    pub(crate) fn id(&mut self, name: &str) -> Option<ResourceId> {
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        let id = u16::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        Some(ResourceId(id))
    }

    /// The number of a name that has one.
    pub(crate) fn find(&self, name: &str) -> Option<ResourceId> {
        let position = self.names.iter().position(|known| known == name)?;
        u16::try_from(position).ok().map(ResourceId)
    }

    pub(crate) fn name(&self, id: ResourceId) -> &str {
        self.names.get(usize::from(id.0)).map_or("", String::as_str)
    }

    /// The quantities of an object, such as `requests` or `allocatable`; what does not read as a quantity is nothing.
    pub(crate) fn quantities<'m>(
        &mut self,
        list: Option<&'m Map>,
    ) -> impl Iterator<Item = (ResourceId, Quantity)> + use<'_, 'm> {
        list.into_iter().flatten().filter_map(|(name, value)| {
            let quantity = match value.as_str() {
                Some(text) => text.trim().parse().ok()?,
                None => object::parse::shape(value).ok()?,
            };
            Some((self.id(name)?, quantity))
        })
    }
}

impl Amounts {
    /// An amount in the unit of its resource, rounded up.
    pub(crate) fn of(id: ResourceId, quantity: Quantity) -> i64 {
        match id {
            ResourceId::CPU => quantity.milli_value(),
            _ => quantity.value(),
        }
    }

    pub(crate) fn amount(&self, id: ResourceId) -> i64 {
        self.0
            .iter()
            .find(|(known, _)| *known == id)
            .map_or(0, |(_, amount)| *amount)
    }

    pub(crate) fn set(&mut self, id: ResourceId, amount: i64) {
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some((_, old)) => *old = amount,
            None => self.0.push((id, amount)),
        }
    }

    pub(crate) fn add(&mut self, id: ResourceId, amount: i64) {
        self.set(id, self.amount(id).saturating_add(amount));
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (id, amount) in &other.0 {
            self.add(*id, *amount);
        }
    }

    pub(crate) fn take_all(&mut self, other: &Self) {
        for (id, amount) in &other.0 {
            self.add(*id, amount.saturating_neg());
        }
    }

    /// Raises every amount to at least that of the other.
    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (id, amount) in &other.0 {
            self.set(*id, self.amount(*id).max(*amount));
        }
    }

    pub(crate) fn shrink(&mut self) {
        self.0.retain(|(_, amount)| *amount != 0);
        self.0.shrink_to_fit();
    }

    /// As the API writes what pods request: nothing of what is zero.
    pub(crate) fn to_list(&self, names: &Names) -> ResourceList {
        self.0
            .iter()
            .filter(|(_, amount)| *amount != 0)
            .map(|(id, amount)| {
                let name = names.name(*id);
                let quantity = match *id {
                    ResourceId::CPU => Quantity::from_millis(*amount, Format::DecimalSI),
                    _ => Quantity::from_units(*amount, format_of(name)),
                };
                (name.to_owned(), quantity)
            })
            .collect()
    }
}

/// Bytes are written in powers of 1024, everything else in powers of 1000.
fn format_of(name: &str) -> Format {
    if matches!(name, "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
        return Format::BinarySI;
    }
    Format::DecimalSI
}
