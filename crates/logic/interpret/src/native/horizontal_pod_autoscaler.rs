//! HorizontalPodAutoscaler.

use object::{Map, Value};

use crate::native::{
    KindRules,
    counters::{self, Counter, optional, required},
};

pub(super) const RULES: KindRules = KindRules {
    // Metrics and conditions of one member say nothing of the others: the template's status is the sums alone.
    aggregate: Some(|template, items| {
        counters::add_up(Map::new(), template, items, &COUNTERS).map(Some)
    }),
    reflect: Some(|observed| Ok(counters::reflect(observed, &COUNTERS)?.map(Value::Object))),
    ..KindRules::of("autoscaling/v2", "HorizontalPodAutoscaler")
};

const COUNTERS: [Counter; 2] = [optional("currentReplicas"), required("desiredReplicas")];
