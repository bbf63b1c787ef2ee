//! Kyverno's Policy and ClusterPolicy.

use api::work::v1alpha2::AggregatedStatusItem;
use object::{Map, Object, Value};

use crate::{
    error::RuleError,
    node::Node,
    table::{KindRules, reported},
    third_party::{
        conditions,
        fold::{Fold, fold, pick},
    },
};

pub(super) const CLUSTER_POLICY: KindRules = KindRules {
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    ..KindRules::of("kyverno.io/v1", "ClusterPolicy")
};

pub(super) const POLICY: KindRules = KindRules {
    aggregate: Some(aggregate),
    reflect: Some(reflect),
    is_healthy: Some(is_healthy),
    ..KindRules::of("kyverno.io/v1", "Policy")
};

/// How many rules of each sort there are.
const RULE_COUNTS: [&str; 4] = ["validate", "generate", "mutate", "verifyimages"];

fn reflect(observed: &Object) -> Result<Option<Value>, RuleError> {
    pick(observed, &["ready", "conditions", "autogen", "rulecount"])
}

/// Older versions say it in a field, newer ones in a condition.
fn is_healthy(observed: &Object) -> Result<bool, RuleError> {
    let ready = Node::of(observed).at(&["status", "ready"])?.boolean()?;
    match ready {
        Some(ready) => Ok(ready),
        None => conditions::is_ready(observed, &["Succeeded"]),
    }
}

fn aggregate(_: &Object, items: &[AggregatedStatusItem]) -> Result<Option<Value>, RuleError> {
    if items.is_empty() {
        return Ok(None);
    }
    let fields = [("autogen", Fold::Last), ("ready", Fold::Last)];
    let mut status = fold(Map::new(), items, &fields)?;
    let mut counts = Map::new();
    for name in RULE_COUNTS {
        let path = ["rulecount", name];
        let mut sum = 0_i64;
        for (_, member) in reported(items) {
            let count = member.at(&path)?.integer()?;
            sum = sum.saturating_add(count.unwrap_or_default());
        }
        counts.insert(name.to_owned(), Value::from(sum));
    }
    status.insert("rulecount".to_owned(), Value::Object(counts));
    let conditions = conditions::by_reason(items)?;
    status.insert("conditions".to_owned(), Value::Array(conditions));
    Ok(Some(Value::Object(status)))
}
