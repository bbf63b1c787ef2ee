//! What a run may spend, and why it gives no value.

/// Why a program gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    pub(super) text: String,
    /// Whether the budget was at fault: nothing absorbs that.
    pub(crate) exhausted: bool,
}

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exhausted: false,
        }
    }

    pub(crate) fn no_overload() -> Self {
        Self::new("no such overload")
    }

    pub(super) fn no_key(key: &str) -> Self {
        Self::new(format!("no such key: {key}"))
    }

    /// Whether the program was stopped because it took too long.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }
}

/// What is left to spend.
pub(crate) struct Meter {
    left: u64,
    spent: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            left: limit,
            spent: 0,
        }
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Pays for something.
    pub(crate) fn pay(&mut self, cost: u64) -> Result<(), Fault> {
        self.spent = self.spent.saturating_add(cost);
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Fault {
                    text: "operation cancelled: actual cost limit exceeded".to_owned(),
                    exhausted: true,
                })
            }
        }
    }

    /// Pays for going through so many bytes: a tenth each.
    pub(crate) fn pay_for_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.pay(bytes as u64 / 10)
    }

    /// Pays for making so many elements.
    pub(crate) fn pay_for_items(&mut self, items: usize) -> Result<(), Fault> {
        self.pay(items as u64)
    }
}
