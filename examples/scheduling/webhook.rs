//! A webhook that keeps templates away from clusters that run on coal, and prefers wind.
//!
//! Clusters say what they run on with the label `example.com/energy`.
//!
//! `cargo run -p karavel-scheduler --example webhook -- DIRECTORY`

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use listen::{Authority, Limits, Listener, ServerIdentity, Subject};
use object::Value;
use runtime::CancellationToken;
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The whole of the plugin: from a question to an answer.
pub(crate) fn review(question: &Value) -> Value {
    let request = &question["request"];
    let clusters = request["clusters"].as_array();
    let opinion = |cluster: &Value| {
        let name = &cluster["name"];
        match cluster["labels"]["example.com/energy"].as_str() {
            Some("coal") => {
                json!({"name": name, "allowed": false, "reason": "cluster(s) run on coal"})
            }
            Some("wind") => json!({"name": name, "score": 100}),
            _ => json!({"name": name, "score": 0}),
        }
    };
    let opinions: Vec<Value> = clusters.into_iter().flatten().map(opinion).collect();
    json!({"response": {"uid": request["uid"], "clusters": opinions}})
}

/// Answers over HTTPS until told to stop; calls `ready` with the address and the authority to trust.
pub(crate) async fn answer(
    directory: &Path,
    stop: CancellationToken,
    ready: impl FnOnce(SocketAddr, &str),
) -> Result<(), Failure> {
    let now = SystemTime::now();
    let authority = Authority::open(directory, now)?;
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let week = Duration::from_secs(7 * 24 * 3600);
    let issued = authority.issue(&Subject::Server { names }, week, now)?;
    let tls = ServerIdentity::new(&issued)?.tls_config(authority.certificate_pem())?;
    let listener = Listener::bind("127.0.0.1:0".parse()?).await?;
    ready(listener.address(), authority.certificate_pem());
    let handler = |request: Request<listen::Arriving>| async move {
        let body = request.into_body().collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let question: Value = serde_json::from_slice(&body).unwrap_or_default();
        Response::new(Full::new(Bytes::from(review(&question).to_string())))
    };
    listener.serve(tls, Limits::default(), handler, stop).await;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let directory = std::env::args()
        .nth(1)
        .ok_or("say where to keep certificates")?;
    let directory = Path::new(&directory);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(answer(directory, CancellationToken::new(), |address, authority| {
        let indented = authority.trim_end().replace('\n', "\n    ");
        let file = format!(
            "webhooks:\n- name: Carbon\n  url: https://{address}/review\n  certificateAuthority: |\n    {indented}\n"
        );
        let path = directory.join("webhooks.yaml");
        let outcome = match std::fs::write(&path, file) {
            Ok(()) => format!("its webhooks.yaml is {}", path.display()),
            Err(error) => format!("cannot write {}: {error}", path.display()),
        };
        say(&format!("listening on https://{address}; {outcome}"));
    }))
}

#[expect(clippy::print_stderr, reason = "whoever starts it wants to know")]
fn say(text: &str) {
    eprintln!("{text}");
}
