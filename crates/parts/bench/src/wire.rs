//! One connection to a server, driven by whoever calls: no pool, no task, nothing decoded.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use client::Door;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::BenchError;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// What the body is.
    pub(crate) content: &'static str,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, "", Bytes::new())
    }

    pub(crate) fn post(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, path, JSON, body)
    }

    pub(crate) fn new(
        method: Method,
        path: impl Into<String>,
        content: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            method,
            path: path.into(),
            content,
            body: body.into(),
        }
    }
}

/// The content type of objects.
pub(crate) const JSON: &str = "application/json";
/// The content type of a merge patch.
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
/// The content type of an apply.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The body, unless the server refused.
    pub(crate) fn accepted(self, doing: &str) -> Result<Bytes, BenchError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        Err(BenchError::Refused {
            doing: doing.to_owned(),
            status: self.status.as_u16(),
            said: said(&self.body),
        })
    }
}

/// The message of a `Status`, or the beginning of whatever was answered.
pub(crate) fn said(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Message {
        message: String,
    }
    match serde_json::from_slice::<Message>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).chars().take(200).collect(),
    }
}

type Connection = http1::Connection<TokioIo<TlsStream<TcpStream>>, Full<Bytes>>;

/// A connection.
pub(crate) struct Wire {
    sender: http1::SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection>>,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
}

impl Wire {
    pub(crate) async fn open(door: &Door) -> Result<Self, BenchError> {
        let unreachable = |error: &dyn std::error::Error| BenchError::Unreachable {
            server: door.server.to_string(),
            why: error.to_string(),
        };
        let host = door.server.host().unwrap_or_default();
        let port = door.server.port_u16().unwrap_or(443);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let socket = TcpStream::connect((bare, port))
            .await
            .map_err(|error| unreachable(&error))?;
        socket
            .set_nodelay(true)
            .map_err(|error| unreachable(&error))?;
        let name = door.server_name.as_deref().unwrap_or(bare).to_owned();
        let name = ServerName::try_from(name).map_err(|error| unreachable(&error))?;
        let mut tls = (*door.tls).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let stream = TlsConnector::from(Arc::new(tls))
            .connect(name, socket)
            .await
            .map_err(|error| unreachable(&error))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(&error))?;
        let authority = door
            .server
            .authority()
            .map(http::uri::Authority::as_str)
            .unwrap_or_default();
        Ok(Self {
            sender,
            connection: Box::pin(connection),
            host: HeaderValue::from_str(authority).map_err(|error| unreachable(&error))?,
            authorization: door.authorization.clone(),
        })
    }

    /// Asks, and reads the whole answer.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Result<Answer, BenchError> {
        let (head, mut body) = self.begin(ask).await?.into_parts();
        let mut pieces: Vec<Bytes> = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            pieces.push(piece);
        }
        let body = match pieces.len() {
            1 => pieces.remove(0),
            _ => pieces.concat().into(),
        };
        Ok(Answer {
            status: head.status,
            body,
        })
    }

    /// Asks, and leaves the answer's body to be read by [`Wire::piece`].
    pub(crate) async fn begin(&mut self, ask: Ask) -> Result<Response<Incoming>, BenchError> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(ask.path)
            .header(header::HOST, self.host.clone())
            .header(header::ACCEPT, JSON)
            .header(header::USER_AGENT, "karavel-bench");
        if !ask.content.is_empty() {
            request = request.header(header::CONTENT_TYPE, ask.content);
        }
        if let Some(value) = &self.authorization {
            request = request.header(header::AUTHORIZATION, value.clone());
        }
        let request = request
            .body(Full::new(ask.body))
            .map_err(|error| BenchError::broken(&error))?;
        let answer = self.sender.send_request(request);
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|error| BenchError::broken(&error)),
            ended = &mut self.connection => Err(ended_early(ended)),
        }
    }

    /// The next piece of a body; nothing at its end.
    pub(crate) async fn piece(&mut self, body: &mut Incoming) -> Result<Option<Bytes>, BenchError> {
        loop {
            let frame = tokio::select! {
                biased;
                frame = body.frame() => frame,
                ended = &mut self.connection => {
                    // The last frames may have come with the end of the connection.
                    if let Err(error) = ended {
                        return Err(BenchError::broken(&error));
                    }
                    body.frame().await
                }
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| BenchError::broken(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

fn ended_early(ended: Result<(), hyper::Error>) -> BenchError {
    match ended {
        Ok(()) => BenchError::Broken("the server closed the connection".to_owned()),
        Err(error) => BenchError::broken(&error),
    }
}
