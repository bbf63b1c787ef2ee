//! What pods and nodes seem to use: plausible, and always the same for the same pod and time.
//!
//! A pod uses a share of what it asks for that drifts slowly, or what its annotations say. A node uses what its pods use,
//! and a little for itself.

use object::Object;
use object::time::Time;

use crate::behaviour::Rules;
use crate::controllers::scheduler::requests_of;
use crate::read;

/// What is used, in thousandths of processors and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_millis: i64,
    pub(crate) memory_bytes: i64,
}

/// What a container without requests uses.
const IDLE: Usage = Usage {
    cpu_millis: 5,
    memory_bytes: 24 << 20,
};
/// What a node uses for itself.
pub(crate) const SYSTEM: Usage = Usage {
    cpu_millis: 120,
    memory_bytes: 600 << 20,
};
/// Usage drifts from one window to the next.
pub(crate) const WINDOW: i64 = 30;

/// What one pod uses; nothing unless it runs.
pub(crate) fn of_pod(pod: &Object, rules: &Rules, now: Time) -> Usage {
    if read::phase(pod) != "Running" {
        return Usage::default();
    }
    let behaviour = rules.behaviour(pod);
    let count = i64::try_from(read::list(pod, &["spec", "containers"]).len()).unwrap_or(1);
    let requests = requests_of(pod);
    let window = now.unix_seconds().div_euclid(WINDOW);
    // Between 40 and 80 hundredths of what is asked for, drifting by a few hundredths.
    let share = 40 + number(pod.uid(), 0) % 35 + number(pod.uid(), window) % 6;
    let scaled = |asked: i64, idle: i64| {
        if asked > 0 {
            asked / 100 * share + asked % 100 * share / 100
        } else {
            idle.saturating_mul(count)
        }
    };
    let cpu = behaviour
        .cpu
        .map(|cpu| cpu.milli_value().saturating_mul(count));
    let memory = behaviour
        .memory
        .map(|memory| memory.value().saturating_mul(count));
    Usage {
        cpu_millis: cpu.unwrap_or_else(|| scaled(requests.get("cpu"), IDLE.cpu_millis)),
        memory_bytes: memory.unwrap_or_else(|| scaled(requests.get("memory"), IDLE.memory_bytes)),
    }
}

/// A number that follows from a uid and a salt.
fn number(uid: &str, salt: i64) -> i64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in uid.bytes().chain(salt.to_le_bytes()) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    i64::try_from(sum >> 33).unwrap_or(0)
}
