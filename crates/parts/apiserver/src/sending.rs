//! Long answers are sent in pieces: others have their turn in between, and the seat is kept until the last piece.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use access::fairness::Lent;
use access::turns::Track;
use bytes::Bytes;
use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use listen::Carrier;
use serve::body::Body;

/// The most that is encrypted and written at once, in bytes: a fraction of a millisecond.
pub(crate) const PIECE: usize = 64 * 1024;

/// Lets a connection go on when it is the turn of whoever uses it: reading, encrypting and writing take processors too.
#[derive(Clone, Default)]
pub(crate) struct Pace {
    /// The line it stands in.
    pub(crate) track: Track,
}

impl Carrier for Pace {
    fn carry<F: Future + Send>(&self, connection: F) -> impl Future<Output = F::Output> + Send {
        self.track.pace(connection)
    }
}

/// A body on its way to a client.
pub(crate) struct Sending {
    body: Body,
    /// What is left of a frame that is too long to be sent at once.
    rest: Bytes,
    /// Whether others go first before the next piece.
    pauses: bool,
    seat: Option<Lent>,
}

/// Sends an answer in pieces, with the seat it may have among its extensions.
pub(crate) fn send(mut response: Response<Body>) -> Response<Sending> {
    let seat = response.extensions_mut().remove::<Lent>();
    response.map(|body| Sending {
        body,
        rest: Bytes::new(),
        pauses: false,
        seat,
    })
}

impl Sending {
    fn next_piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        self.pauses = !self.rest.is_empty();
        if self.is_end_stream() {
            self.seat = None;
        }
        Frame::data(piece)
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.pauses) {
            context.waker().wake_by_ref();
            // Another thread may wait for this processor with somebody's first piece.
            std::thread::yield_now();
            return Poll::Pending;
        }
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.next_piece())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match frame {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    Poll::Ready(Some(Ok(self.next_piece())))
                }
                Err(frame) => Poll::Ready(Some(Ok(frame))),
            },
            Poll::Ready(None) => {
                self.seat = None;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.size_hint().exact() {
            Some(length) => SizeHint::with_exact(length + self.rest.len() as u64),
            None => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_goes_in_pieces_with_pauses_and_nothing_is_lost() {
        for (length, expected) in [
            (0, ""),
            (1, "1"),
            (PIECE, "65536"),
            (PIECE + 1, "65536 pause 1"),
            (3 * PIECE, "65536 pause 65536 pause 65536"),
        ] {
            let whole: Bytes = (0..length).map(|at| (at % 251) as u8).collect();
            let mut sending = send(Response::new(Body::Whole(whole.clone()))).into_body();
            let mut context = Context::from_waker(std::task::Waker::noop());
            let (mut sent, mut steps) = (Vec::new(), Vec::new());
            while !sending.is_end_stream() {
                let left = sending.size_hint().exact().unwrap();
                assert_eq!(left as usize, length - sent.len());
                match Pin::new(&mut sending).poll_frame(&mut context) {
                    Poll::Ready(Some(Ok(frame))) => {
                        let data = frame.into_data().unwrap();
                        steps.push(data.len().to_string());
                        sent.extend_from_slice(&data);
                    }
                    Poll::Pending => steps.push("pause".to_owned()),
                    Poll::Ready(None) => break,
                }
            }
            assert_eq!(steps.join(" "), expected);
            assert!(sent == whole, "{length} bytes");
        }
    }
}
