use std::time::{Duration, Instant};

use karavel_apiserver::{Security, Storage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::served::{Credentials, Served, connect, find};

#[tokio::test(flavor = "multi_thread")]
async fn open_watches_end_cleanly_and_at_once_when_the_server_stops() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), Storage::Memory, Security::default())
        .await
        .unwrap();
    let admin = Credentials::of(directory.path());
    let mut stream = connect(served.address, &admin.authority, Some(&admin), "localhost")
        .await
        .unwrap();
    let request = "GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    while find(&received, b"karmada-cluster").is_none() {
        assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
    }
    let begun = Instant::now();
    served.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    stream.read_to_end(&mut received).await.unwrap();
    // The last chunk: the client sees an end, not a broken connection.
    assert!(received.ends_with(b"0\r\n\r\n"));
}
