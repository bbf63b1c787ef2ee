//! What the kubelet of one node does next.

use std::collections::BTreeSet;

use object::time::Time;
use object::{Object, Value};

use crate::behaviour::{self, Ending, Rules};
use crate::controllers::kubelet::configuration::{self, Shelf, Source};
use crate::controllers::kubelet::container::Setting;
use crate::controllers::kubelet::ending;
use crate::controllers::kubelet::pod::{self, Step};
use crate::controllers::kubelet::{refusal, resize};
use crate::controllers::node::{address_of, subnet_of};
use crate::engine::action::{Plan, Writer};
use crate::engine::kind::Kind;
use crate::read;

/// Everything the decision may look at.
pub(crate) struct Inputs<'a> {
    pub(crate) node: &'a Object,
    pub(crate) pods: &'a [&'a Object],
    pub(crate) rules: &'a Rules,
    /// Whether a command makes a pod fail.
    pub(crate) is_failing: &'a dyn Fn(&Object) -> bool,
    /// The ConfigMaps and Secrets there are.
    pub(crate) entries: Shelf<'a>,
    /// What a container of a pod that has been running since a time was left with by whoever was connected to it.
    pub(crate) left: &'a dyn Fn(&Object, &str, Time) -> Option<i64>,
    pub(crate) now: Time,
}

pub(crate) fn plan(inputs: &Inputs<'_>) -> Plan {
    let mut plan = Plan::default();
    let host = address_of(inputs.node);
    let mut addresses = Addresses::new(inputs);
    for (place, pod) in inputs.pods.iter().enumerate() {
        let mut behaviour = inputs.rules.behaviour(pod);
        if (inputs.is_failing)(pod) {
            behaviour.ending = Some(Ending { after: 1, code: 1 });
        }
        if pod.is_terminating() {
            ending::plan(&mut plan, pod, behaviour.stop, inputs.now);
            continue;
        }
        let before = inputs.pods.get(..place).unwrap_or_default();
        if let Some(step) = refusal::refuse(pod, before, inputs.pods, inputs.now) {
            carry(&mut plan, pod, step);
            continue;
        }
        let address = match pod.text_at(&["status", "podIP"]) {
            Some(address) => address.to_owned(),
            None if has_own_network(pod) => addresses.next(),
            None => host.clone(),
        };
        let is_optional = behaviour.configuration_optional;
        let find = |source: Source, name: &str| match is_optional {
            true => Some(Vec::new()),
            false => (inputs.entries)(source, pod.namespace(), name),
        };
        let lacks = |container: &Value| match is_optional {
            true => None,
            false => configuration::lacking(pod.namespace(), container, &find),
        };
        let resize = resize::judge(pod, inputs.node, inputs.pods.iter().copied());
        let setting = Setting {
            pod,
            resize: &resize,
            behaviour: &behaviour,
            lacks: &lacks,
            left: &|name, since| (inputs.left)(pod, name, since),
            now: inputs.now,
        };
        let mut step = pod::step(&setting, &find, &host, &address);
        if pod.text_at(&["status", "startTime"]).is_none() {
            step.events.extend(behaviour::misunderstood(pod).map(|why| {
                let message = format!("Annotation is not understood: {why}");
                (true, "FailedSimulation", message)
            }));
        }
        carry(&mut plan, pod, step);
    }
    plan
}

fn has_own_network(pod: &Object) -> bool {
    let shares = pod.at(&["spec", "hostNetwork"]);
    shares.and_then(Value::as_bool) != Some(true)
}

fn carry(plan: &mut Plan, pod: &Object, step: Step) {
    if let Some(time) = step.wake {
        plan.wake_at(time);
    }
    let Some(status) = step.status else { return };
    plan.status(Kind::Pod, pod, status, Writer::Kubelet);
    for (is_warning, reason, message) in step.events {
        if is_warning {
            plan.warn(pod, Writer::Kubelet, reason, message);
        } else {
            plan.report(pod, Writer::Kubelet, reason, message);
        }
    }
}

/// Addresses of a node's subnet that no pod has. Which are taken is only looked at when one is wanted: most of the time
/// every pod has its own.
struct Addresses<'a> {
    inputs: &'a Inputs<'a>,
    taken: Option<BTreeSet<&'a str>>,
    last: u8,
}

impl<'a> Addresses<'a> {
    fn new(inputs: &'a Inputs<'a>) -> Self {
        Self {
            inputs,
            taken: None,
            last: 1,
        }
    }

    /// The next free one; empty if there is none.
    fn next(&mut self) -> String {
        let inputs = self.inputs;
        let taken = self.taken.get_or_insert_with(|| {
            let pods = inputs.pods.iter().filter(|pod| !read::has_ended(pod));
            pods.filter_map(|pod| pod.text_at(&["status", "podIP"]))
                .collect()
        });
        let [a, b, c] = subnet_of(inputs.node).unwrap_or([10, 255, 255]);
        while self.last < 254 {
            self.last += 1;
            let address = format!("{a}.{b}.{c}.{}", self.last);
            if !taken.contains(address.as_str()) {
                return address;
            }
        }
        String::new()
    }
}
