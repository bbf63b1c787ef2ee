use std::pin::pin;
use std::task::Waker;

use bytes::Bytes;
use http_body::Frame;
use listen::{CertifiedUser, Peer};
use runtime::Clock;
use store::embedded::Retention;
use store::memory::Memory;

use super::*;
use crate::server::{ApiServer, Extensions, Inside};

/// A body that is waited for in vain.
struct Never;

impl http_body::Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn whoever_is_known_is_vouched_for_before_they_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let inside = Inside {
        data_dir: directory.path().to_owned(),
        store: Store::Memory(Memory::new(Retention::default())),
        clock: Clock::tied("2026-01-01T00:00:00Z".parse().unwrap()),
    };
    let server = ApiServer::start_inside(inside, Extensions::default()).await;
    let handle = server.unwrap().handle();
    // Who is certified, as a member of which group; whether they wait for an answer, and whether they are known.
    for (name, group, waits, expected) in [
        ("ann", "system:masters", true, true),
        ("ann", "nothing", false, true),
        ("system:anonymous", "nothing", false, false),
        ("", "", false, false),
    ] {
        let user = CertifiedUser {
            name: name.to_owned(),
            groups: vec![group.to_owned()],
            uid: String::new(),
            fingerprint: String::new(),
            ends: i64::MAX,
            is_plain: true,
        };
        let voucher = Voucher::default();
        let request = Request::post("/api/v1/namespaces")
            .extension(voucher.clone())
            .extension(Peer {
                address: "127.0.0.1:1".parse().unwrap(),
                user: Some(user).filter(|user| !user.name.is_empty()),
                is_distrusted: false,
            });
        let mut answering = pin!(handle.front().answer(request.body(Never).unwrap()));
        let mut context = Context::from_waker(Waker::noop());
        let answered = answering.as_mut().poll(&mut context);
        assert_eq!(answered.is_pending(), waits, "{name} of {group}");
        assert_eq!(voucher.is_given(), expected, "{name} of {group}");
    }
}
