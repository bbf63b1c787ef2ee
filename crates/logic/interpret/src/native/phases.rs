//! One phase for many members: the most telling of theirs.

use api::work::v1alpha2::AggregatedStatusItem;

use crate::{error::RuleError, node::Node};

/// Not started, as far as anybody knows.
pub(super) const PENDING: &str = "Pending";

/// The first of `order` that some member is in; a member that has not reported is pending.
///
/// `None` if no member is in any of them.
pub(super) fn first_of<'o>(
    items: &[AggregatedStatusItem],
    order: &[&'o str],
) -> Result<Option<&'o str>, RuleError> {
    let mut first = order.len();
    for item in items {
        let status = Node::reported(item);
        let phase = if status.is_absent() {
            PENDING
        } else {
            status.at(&["phase"])?.text_or_empty()?
        };
        let rank = order.iter().position(|known| *known == phase);
        first = first.min(rank.unwrap_or(order.len()));
    }
    Ok(order.get(first).copied())
}
