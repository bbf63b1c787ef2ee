use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Sleep;

use super::*;

/// The beginning of HTTP/2, and settings that are the usual ones.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `GET /` on the first stream.
const GET: &[u8] = b"\0\0\x06\x01\x05\0\0\0\x01\x82\x87\x84\x41\x01m";
/// `PUT /`, which is taken as a wish for an answer that lasts.
const LASTING: &[u8] = b"\0\0\x0a\x01\x05\0\0\0\x01\x42\x03PUT\x87\x84\x41\x01m";

/// `POST /`, which is taken as a wish by somebody who shows a token for an answer that begins late.
const LATE: &[u8] = b"\0\0\x06\x01\x05\0\0\0\x01\x83\x87\x84\x41\x01m";

/// How long such an answer lasts, or takes to begin.
const LASTS: Duration = Duration::from_secs(600);

/// A body that says nothing for a long time.
struct Silent(Pin<Box<Sleep>>);

impl http_body::Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.as_mut().poll(context).map(|()| None)
    }
}

/// Sends what a client says, answers pings as long as there are any, and tells after how many seconds it is left alone.
async fn lasts(mut client: DuplexStream, said: &[u8]) -> u64 {
    let began = Instant::now();
    client.write_all(said).await.unwrap();
    let is_second = said.starts_with(PREFACE);
    let mut seen = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        match client.read(&mut chunk).await {
            Ok(0) | Err(_) => return began.elapsed().as_secs(),
            Ok(read) => seen.extend_from_slice(&chunk[..read]),
        }
        while let [a, b, c, kind, flags, rest @ ..] = &seen[..]
            && is_second
        {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some(frame) = rest.get(4..4 + length) else {
                break;
            };
            if (*kind, *flags) == (6, 0) {
                let answer = [b"\0\0\x08\x06\x01\0\0\0\0", frame].concat();
                drop(client.write_all(&answer).await);
            }
            seen.drain(..9 + length);
        }
    }
}

/// After how many seconds a client that says this is left alone.
async fn held(stay: Arc<Stay>, said: &[u8]) -> u64 {
    let (client, server) = tokio::io::duplex(64 * 1024);
    let conversation = Conversation {
        peer: Peer {
            address: "127.0.0.1:1".parse().unwrap(),
            user: None,
            is_distrusted: false,
        },
        carrier: (),
        stay,
        limits: Limits::default(),
        stop: CancellationToken::new(),
    };
    let handler = |request: Request<Arriving>| async move {
        let lasts = match request.method().as_str() {
            "GET" => Duration::ZERO,
            "POST" => {
                let voucher: &Voucher = request.extensions().get().unwrap();
                voucher.vouch();
                tokio::time::sleep(LASTS).await;
                Duration::ZERO
            }
            _ => LASTS,
        };
        Response::new(Silent(Box::pin(tokio::time::sleep(lasts))))
    };
    let held = conversation.hold(server, handler);
    let (_, lasted) = tokio::join!(held, lasts(client, said));
    lasted
}

#[tokio::test(start_paused = true)]
async fn connections_that_want_nothing_are_closed_and_busy_ones_are_not() {
    let h2 = |requests: &[u8]| [PREFACE, requests].concat();
    let h1 = |method: &str| format!("{method} / HTTP/1.1\r\nHost: m\r\n\r\n").into_bytes();
    for (case, said, expected) in [
        ("silence", Vec::new(), 30..=33),
        ("half a preface", PREFACE[..12].to_vec(), 30..=33),
        ("half a head", b"GET / HTTP/1.1\r\nHo".to_vec(), 30..=33),
        ("no stream", h2(b""), 30..=33),
        ("half a frame", h2(&GET[..7]), 30..=33),
        ("an answered stream", h2(GET), 90..=93),
        ("an answered request", h1("GET"), 30..=33),
        ("a stream that lasts", h2(LASTING), 690..=693),
        ("a request that lasts", h1("PUT"), 630..=633),
    ] {
        let lasted = held(Stay::new(), &said).await;
        assert!(expected.contains(&lasted), "{case}: {lasted} s");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_to_leave_goes_at_once_unless_they_are_known_and_busy() {
    for (is_known, said, expected) in [
        (false, [PREFACE, LASTING].concat(), 5),
        (true, PREFACE.to_vec(), 5),
        (true, [PREFACE, LASTING].concat(), 600),
        (false, [PREFACE, LATE].concat(), 600),
    ] {
        let stay = Stay::new();
        if is_known {
            stay.vouch();
        }
        let told = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            stay.tell_to_leave();
        };
        let (lasted, ()) = tokio::join!(held(Arc::clone(&stay), &said), told);
        assert!((expected..=expected + 3).contains(&lasted), "{lasted} s");
    }
}
