//! Bodies on their way in.
//!
//! A request that is refused by its head leaves its body unread. A client that is still sending then may see the
//! connection or the stream break before it sees the answer. So what is left of a body is read and thrown away, within
//! limits, before the answer goes out.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The most that is read of a body nobody wants: more than any body that somebody could want.
const MOST: usize = 4 * 1024 * 1024;
/// How long that may take.
const LONGEST: Duration = Duration::from_secs(1);

/// The body of a request, as whoever answers reads it. What is unread when it is dropped goes back to the listener.
pub struct Arriving<B = hyper::body::Incoming>
where
    B: Body + Unpin,
{
    body: Option<B>,
    rest: Rest<B>,
}

/// Where an unread body is left.
pub(crate) struct Rest<B>(Arc<Mutex<Option<B>>>);

impl<B: Body<Data = Bytes> + Unpin> Arriving<B> {
    /// A body, and where the unread rest of it will be found.
    pub(crate) fn new(body: B) -> (Self, Rest<B>) {
        let rest = Arc::new(Mutex::new(None));
        let arriving = Self {
            body: Some(body),
            rest: Rest(Arc::clone(&rest)),
        };
        (arriving, Rest(rest))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Rest<B> {
    /// Reads the rest of a body that nobody reads any more, as far as is worth it.
    pub(crate) async fn drain(self) {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut body) = left.filter(|body| !body.is_end_stream()) else {
            return;
        };
        let reading = async {
            let mut read = 0;
            while read <= MOST {
                let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
                let Some(Ok(frame)) = frame else { return };
                read += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        // Whoever is slower, or has more to say, is answered in the middle of it.
        drop(tokio::time::timeout(LONGEST, reading).await);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Arriving<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl<B: Body + Unpin> Drop for Arriving<B> {
    fn drop(&mut self) {
        let mut rest = self.rest.0.lock().unwrap_or_else(PoisonError::into_inner);
        *rest = self.body.take();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Gives pieces of 64 KiB, then nothing more, without an end.
    struct Pieces {
        left: usize,
        given: Arc<AtomicUsize>,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.left == 0 {
                return Poll::Pending;
            }
            self.left -= 1;
            self.given.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[0; 64 * 1024])))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_reads_is_read_up_to_a_limit_of_bytes_and_of_time() {
        for (pieces, expected) in [(0, 0), (2, 2), (100, 65)] {
            let given = Arc::new(AtomicUsize::new(0));
            let (arriving, rest) = Arriving::new(Pieces {
                left: pieces,
                given: Arc::clone(&given),
            });
            drop(arriving);
            let began = tokio::time::Instant::now();
            rest.drain().await;
            assert_eq!(given.load(Ordering::Relaxed), expected, "{pieces} pieces");
            assert!(began.elapsed() <= LONGEST + Duration::from_millis(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_still_read_is_left_alone() {
        let given = Arc::new(AtomicUsize::new(0));
        let (arriving, rest) = Arriving::new(Pieces {
            left: 1,
            given: Arc::clone(&given),
        });
        rest.drain().await;
        assert_eq!(given.load(Ordering::Relaxed), 0);
        drop(arriving);
    }
}
