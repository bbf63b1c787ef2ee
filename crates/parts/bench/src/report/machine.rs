//! The machine a report was made on.

use std::fs;

use serde::{Deserialize, Serialize};

/// What figures depend on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor, as it calls itself.
    pub processor: String,
    /// How many of its cores this process may use.
    pub cores: usize,
    /// Bytes of memory.
    pub memory: u64,
    /// The operating system.
    pub system: String,
}

impl Machine {
    /// Where this runs.
    #[must_use]
    pub fn this() -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kib = value(&memory, "MemTotal").and_then(|text| {
            let number = text.split_whitespace().next()?;
            number.parse::<u64>().ok()
        });
        Self {
            processor: value(&cpus, "model name").unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kib.unwrap_or_default() * 1024,
            system: format!("{} {}", std::env::consts::OS, release.trim()),
        }
    }
}

/// What stands behind a name and a colon.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let text = "model\t\t: 7\nmodel name\t: Fast One\nMemTotal:  100 kB\n";
        assert_eq!(value(text, "model name"), Some("Fast One"));
        assert_eq!(value(text, "MemTotal"), Some("100 kB"));
        assert_eq!(value(text, "absent"), None);
    }
}
