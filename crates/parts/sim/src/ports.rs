//! The ports members had the last time: whoever joined them knows them by these.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value;

/// Ports by member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ports {
    by_member: BTreeMap<String, u16>,
}

impl Ports {
    /// Those of a file. One that is not there or makes no sense tells nothing: other ports are as good.
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let entries = document.as_object().into_iter().flatten();
        let by_member = entries
            .filter_map(|(name, port)| Some((name.clone(), u16::try_from(port.as_u64()?).ok()?)));
        Self {
            by_member: by_member.collect(),
        }
    }

    /// The port of a member; 0, which means any, if it had none.
    pub(crate) fn of(&self, member: &str) -> u16 {
        self.by_member.get(member).copied().unwrap_or(0)
    }

    /// Notes where a member listens.
    pub(crate) fn put(&mut self, member: &str, port: u16) {
        self.by_member.insert(member.to_owned(), port);
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.by_member)?;
        std::fs::write(path, format!("{text}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_back_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ports.json");
        assert_eq!(Ports::read(&path).of("m1"), 0);
        let mut ports = Ports::default();
        ports.put("m1", 4001);
        ports.write(&path).unwrap();
        assert_eq!(Ports::read(&path), ports);
        for text in ["", "[]", "{\"m1\": 70000}", "{\"m1\": \"x\"}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Ports::read(&path).of("m1"), 0, "{text}");
        }
    }
}
