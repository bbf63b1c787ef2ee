//! Members that listen: where they are found again, and what becomes of the kubeconfig.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use karavel_sim::{SimConfig, run};
use runtime::{Outcome, Tasks};
use serde_json::{Value, json};

/// Listeners without connections stop at once.
const GRACE: Duration = Duration::from_secs(10);

/// Starts members, looks where they are, and stops them.
async fn addresses(config: &SimConfig) -> Vec<SocketAddr> {
    let mut tasks = Tasks::new();
    let running = run(config, &mut tasks).await.unwrap();
    let addresses = running.members.iter().map(|(_, address)| *address);
    let addresses = addresses.collect();
    let stopped = tasks.run_until(std::future::ready(()), GRACE).await;
    assert_eq!(stopped, Outcome::Clean);
    addresses
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
    // Somebody else took the port: another is better than none.
    let _taken = TcpListener::bind(first[0]).unwrap();
    assert_ne!(addresses(&config).await, first);
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
