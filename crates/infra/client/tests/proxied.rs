//! Servers that are only reached through a proxy, and what that proxy is told.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use karavel_client::{Client, Endpoint, Identity, KubeconfigSource};

/// A server that tells its version to one caller; what it is asked.
fn server() -> (u16, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, heard) = channel();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        told.send(head(&socket)).unwrap();
        let body = r#"{"major":"1","minor":"34","gitVersion":"v1.34.0"}"#;
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        socket.write_all(answer.as_bytes()).unwrap();
        // Until the caller is done.
        _ = socket.read(&mut [0]);
    });
    (port, heard)
}

/// The lines of a request up to the empty one.
fn head(socket: &TcpStream) -> Vec<String> {
    // Byte by byte, so that nothing after the head is taken.
    let mut reader = BufReader::with_capacity(1, socket);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end();
        if line.is_empty() {
            return lines;
        }
        lines.push(line.to_ascii_lowercase());
    }
}

/// Carries bytes both ways until both sides have ended.
fn carry(one: TcpStream, other: TcpStream) {
    let (mut from, mut to) = (one.try_clone().unwrap(), other.try_clone().unwrap());
    let there = thread::spawn(move || _ = std::io::copy(&mut from, &mut to));
    let (mut from, mut to) = (other, one);
    _ = std::io::copy(&mut from, &mut to);
    _ = there.join();
}

/// A proxy that connects one caller; what it is told.
fn http_proxy() -> (u16, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, heard) = channel();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let lines = head(&socket);
        let to = lines[0].split(' ').nth(1).unwrap().to_owned();
        told.send(lines).unwrap();
        let server = TcpStream::connect(to).unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        carry(socket, server);
    });
    (port, heard)
}

/// The same by SOCKS, with a user and a password.
fn socks_proxy() -> (u16, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, heard) = channel();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut take = |count: usize| {
            let mut bytes = vec![0; count];
            socket.read_exact(&mut bytes).unwrap();
            bytes
        };
        let greeting = take(2);
        take(greeting[1].into());
        let mut answer = socket.try_clone().unwrap();
        answer.write_all(&[5, 2]).unwrap();
        let mut word = || {
            let mut length = [0];
            socket.read_exact(&mut length).unwrap();
            let mut bytes = vec![0; length[0].into()];
            socket.read_exact(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let mut version = [0];
        answer
            .try_clone()
            .unwrap()
            .read_exact(&mut version)
            .unwrap();
        let (user, password) = (word(), word());
        answer.write_all(&[1, 0]).unwrap();
        let mut request = [0; 10];
        socket.read_exact(&mut request).unwrap();
        assert_eq!(&request[..4], [5, 1, 0, 1]);
        let port = u16::from_be_bytes([request[8], request[9]]);
        told.send(vec![user, password]).unwrap();
        let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        answer.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        carry(socket, server);
    });
    (port, heard)
}

async fn version(endpoint: Endpoint) -> String {
    let source = KubeconfigSource::Endpoint(Box::new(endpoint));
    let client = Client::from_kubeconfig(&source).await.unwrap();
    client.version().await.unwrap().git_version
}

#[tokio::test]
async fn a_proxy_hears_its_own_headers_and_the_server_does_not() {
    for upgrades in [false, true] {
        let (server, asked) = server();
        let (proxy, told) = http_proxy();
        let endpoint = Endpoint {
            server: format!("http://127.0.0.1:{server}"),
            identity: Identity::Token("t".to_owned()),
            proxy: Some(format!("http://jane:pa%40ss@127.0.0.1:{proxy}")),
            proxy_headers: vec![("X-Team".to_owned(), "a, b".to_owned())],
            upgrades,
            ..Endpoint::default()
        };
        assert_eq!(version(endpoint).await, "v1.34.0");
        let told = told.recv().unwrap();
        assert_eq!(told[0], format!("connect 127.0.0.1:{server} http/1.1"));
        for line in [
            "x-team: a",
            "x-team: b",
            "proxy-authorization: basic amfuztpwyubzcw==",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:?}");
        }
        let asked = asked.recv().unwrap();
        assert_eq!(asked[0], "get /version http/1.1");
        assert!(asked.iter().any(|line| line == "authorization: bearer t"));
        let leaked = asked
            .iter()
            .find(|line| line.contains("team") || line.contains("proxy"));
        assert_eq!(leaked, None);
    }
}

#[tokio::test]
async fn a_socks_proxy_is_told_who_asks() {
    let (server, asked) = server();
    let (proxy, told) = socks_proxy();
    let endpoint = Endpoint {
        server: format!("http://127.0.0.1:{server}"),
        proxy: Some(format!("socks5://jane:secret@127.0.0.1:{proxy}")),
        ..Endpoint::default()
    };
    assert_eq!(version(endpoint).await, "v1.34.0");
    assert_eq!(told.recv().unwrap(), ["jane", "secret"]);
    assert_eq!(asked.recv().unwrap()[0], "get /version http/1.1");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named_without_its_password() {
    // A port that was free a moment ago, and that nobody listens on now.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let endpoint = Endpoint {
        server: "http://127.0.0.1:1".to_owned(),
        proxy: Some(format!("http://jane:secret@127.0.0.1:{port}")),
        ..Endpoint::default()
    };
    let source = KubeconfigSource::Endpoint(Box::new(endpoint));
    let client = Client::from_kubeconfig(&source).await.unwrap();
    let error = client.version().await.unwrap_err();
    assert!(error.is_unreachable());
    let said = telemetry::chain(&error).to_string();
    assert!(
        said.contains("tunnel error") && !said.contains("secret"),
        "{said}"
    );
}
