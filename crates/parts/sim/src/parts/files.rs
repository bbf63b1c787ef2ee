//! The few files every simulated container has.

use std::collections::BTreeSet;

use object::Object;

use crate::read;

/// Directories that are there though nothing is in them.
const EMPTY: [&str; 7] = ["/bin", "/dev", "/home", "/proc", "/sys", "/tmp", "/usr/bin"];

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(String),
    /// With the names of what is in it.
    Directory(BTreeSet<String>),
}

/// What is at a path of a pod's containers.
pub(crate) fn find(pod: &Object, path: &str) -> Option<Entry> {
    let path = format!("/{}", path.trim_matches('/'));
    let files = files(pod);
    if let Some((_, content)) = files.iter().find(|(known, _)| *known == path) {
        return Some(Entry::File(content.clone()));
    }
    let below = if path == "/" {
        path.clone()
    } else {
        format!("{path}/")
    };
    let all = files.iter().map(|(known, _)| *known).chain(EMPTY);
    let names: BTreeSet<String> = all
        .clone()
        .filter_map(|known| known.strip_prefix(&below)?.split('/').next())
        .map(str::to_owned)
        .collect();
    let is_there = !names.is_empty() || all.clone().any(|known| known == path);
    is_there.then_some(Entry::Directory(names))
}

/// Everything at and below a path, by path, the directories before what is in them.
pub(crate) fn walk(pod: &Object, path: &str) -> Vec<(String, Entry)> {
    let path = format!("/{}", path.trim_matches('/'));
    let Some(entry) = find(pod, &path) else {
        return Vec::new();
    };
    let names = match &entry {
        Entry::File(_) => BTreeSet::new(),
        Entry::Directory(names) => names.clone(),
    };
    let mut all = vec![(path.clone(), entry)];
    for name in names {
        all.extend(walk(pod, &format!("{}/{name}", path.trim_end_matches('/'))));
    }
    all
}

fn files(pod: &Object) -> Vec<(&'static str, String)> {
    let name = pod
        .text_at(&["spec", "hostname"])
        .unwrap_or_else(|| pod.name());
    let address = pod.text_at(&["status", "podIP"]).unwrap_or("127.0.0.1");
    let namespace = pod.namespace();
    let mut files = vec![
        ("/etc/hostname", format!("{name}\n")),
        (
            "/etc/hosts",
            format!("127.0.0.1\tlocalhost\n{address}\t{name}\n"),
        ),
        (
            "/etc/os-release",
            "NAME=\"Simulated Linux\"\nID=simulated\n".to_owned(),
        ),
        ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n".to_owned()),
        (
            "/etc/resolv.conf",
            format!(
                "search {namespace}.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n"
            ),
        ),
    ];
    let has_account = read::list(pod, &["spec", "containers"])
        .iter()
        .flat_map(|container| read::items(container, "volumeMounts"))
        .any(|mount| read::text(mount, "mountPath").ends_with("/serviceaccount"));
    if has_account {
        let path = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
        files.push((path, namespace.to_owned()));
    }
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_files_and_directories() {
        let pod = json!({"metadata": {"name": "web-1", "namespace": "shop"}});
        let pod = Object::from_value(pod).unwrap();
        assert_eq!(
            find(&pod, "/etc/hostname"),
            Some(Entry::File("web-1\n".to_owned()))
        );
        assert_eq!(find(&pod, "/nothing"), None);
        assert_eq!(find(&pod, "/tmp/"), Some(Entry::Directory(BTreeSet::new())));
        let Some(Entry::Directory(names)) = find(&pod, "/") else {
            panic!("the root is a directory");
        };
        assert!(names.contains("etc") && names.contains("tmp") && names.contains("usr"));
        let walked: Vec<String> = walk(&pod, "/etc")
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(walked.first().map(String::as_str), Some("/etc"));
        assert!(walked.contains(&"/etc/resolv.conf".to_owned()));
    }
}
