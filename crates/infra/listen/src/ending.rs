//! Bodies that end when the server does.
//!
//! A watch lasts as long as its client wants it to. A server that stops would wait for it until its patience is over;
//! ended like this the client sees the stream close as if its time were up, and comes back to whoever serves then.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::places::Busy;

/// A body that ends early, and cleanly, once its server is told to stop. One of known length is sent whole.
pub(crate) struct Ending<B> {
    body: Pin<Box<B>>,
    /// `None` for a body of known length, and once it has ended.
    stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    ended: bool,
    /// The request is under way as long as there is something to hand over. What is handed over and not sent yet is not
    /// seen from here; `places` gives it time.
    _busy: Busy,
}

impl<B: Body> Ending<B> {
    pub(crate) fn new(body: B, stop: &CancellationToken, busy: Busy) -> Self {
        let endless = body.size_hint().exact().is_none();
        Self {
            body: Box::pin(body),
            stop: endless.then(|| Box::pin(stop.clone().cancelled_owned())),
            ended: false,
            _busy: busy,
        }
    }
}

impl<B: Body<Data = Bytes>> Body for Ending<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // What is there goes out first: a frame is never cut in two.
        if let Poll::Ready(frame) = self.body.as_mut().poll_frame(context) {
            let stopped = self
                .stop
                .as_mut()
                .is_some_and(|stop| stop.as_mut().poll(context).is_ready());
            self.ended = frame.is_none() || stopped;
            return Poll::Ready(frame);
        }
        let stopped = self
            .stop
            .as_mut()
            .is_some_and(|stop| stop.as_mut().poll(context).is_ready());
        if !stopped {
            return Poll::Pending;
        }
        self.ended = true;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
