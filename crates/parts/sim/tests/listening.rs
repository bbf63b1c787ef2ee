//! Members that listen: where they are found again, and what becomes of the kubeconfig.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use karavel_sim::{Moved, SimConfig, run};
use runtime::{Outcome, Tasks};
use serde_json::{Value, json};

/// Listeners without connections stop at once.
const GRACE: Duration = Duration::from_secs(10);

/// Starts members, looks where they are, and stops them.
async fn addresses(config: &SimConfig) -> Vec<SocketAddr> {
    let (addresses, moved) = start(config).await;
    assert_eq!(moved, []);
    addresses
}

/// Where members are once they were started, and which of them are elsewhere than the last time.
async fn start(config: &SimConfig) -> (Vec<SocketAddr>, Vec<Moved>) {
    let mut tasks = Tasks::new();
    let running = run(config, &mut tasks).await.unwrap();
    let addresses = running.members.iter().map(|(_, address)| *address);
    let started = (addresses.collect(), running.moved.clone());
    let stopped = tasks.run_until(std::future::ready(()), GRACE).await;
    assert_eq!(stopped, Outcome::Clean);
    started
}

fn kubeconfig(directory: &Path) -> Value {
    let text = std::fs::read_to_string(directory.join("kubeconfig")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_member_is_found_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let config = SimConfig::new("m", directory.path());
    let first = addresses(&config).await;
    assert_eq!(addresses(&config).await, first);
    // What a user set stays, and so does the address.
    let mut edited = kubeconfig(directory.path());
    edited["contexts"][0]["context"]["namespace"] = json!("shop");
    std::fs::write(directory.path().join("kubeconfig"), edited.to_string()).unwrap();
    assert_eq!(addresses(&config).await, first);
    let after = kubeconfig(directory.path());
    assert_eq!(after["contexts"][0]["context"]["namespace"], "shop");
    assert_eq!(
        after["clusters"][0]["cluster"]["server"],
        format!("https://{}", first[0])
    );
    // Somebody else took the port: another is better than none, but it is said.
    let _taken = TcpListener::bind(first[0]).unwrap();
    let (second, moved) = start(&config).await;
    let (name, from, to) = ("m".to_owned(), first[0].port(), second[0].port());
    assert_ne!(from, to);
    assert_eq!(moved, [Moved { name, from, to }]);
}

#[tokio::test]
async fn each_of_several_members_is_found_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let config = SimConfig {
        count: 3,
        nodes: 1,
        ..SimConfig::new("m", directory.path())
    };
    let first = addresses(&config).await;
    assert_eq!(first.len(), 3);
    assert_eq!(addresses(&config).await, first);
}
