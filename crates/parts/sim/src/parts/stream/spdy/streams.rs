//! Exec and attach over SPDY: one stream for each of input, output, errors and the end.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::parts::stream::session::{Line, Output, Streamed};
use crate::parts::stream::spdy::{Connection, Event, MOST_STREAMS, header};

/// How long a client may take to open its streams.
const PATIENCE: Duration = Duration::from_secs(30);

/// The streams of one session.
pub(crate) struct Streams {
    connection: Connection,
    by_name: BTreeMap<String, u32>,
    /// Input that came before anybody asked for it.
    early: Option<Bytes>,
    has_ended: bool,
}

impl Streams {
    /// Waits for the streams a session needs; `None` if they do not come.
    pub(crate) async fn open(connection: Connection, wanted: Streamed) -> Option<Self> {
        let mut streams = Self {
            connection,
            by_name: BTreeMap::new(),
            early: None,
            has_ended: false,
        };
        let opened = tokio::time::timeout(PATIENCE, streams.gather(wanted)).await;
        opened.ok()?.then_some(streams)
    }

    async fn gather(&mut self, wanted: Streamed) -> bool {
        let names = wanted.names();
        while !names.iter().all(|name| self.by_name.contains_key(*name)) {
            let Some(event) = self.connection.next().await else {
                return false;
            };
            if let Some(data) = self.take(event) {
                self.early = Some(data);
            }
        }
        true
    }

    /// Notes what happened; input is handed back.
    fn take(&mut self, event: Event) -> Option<Bytes> {
        let stdin = self.by_name.get("stdin").copied();
        match event {
            Event::Opened {
                stream, headers, ..
            } if self.by_name.len() < MOST_STREAMS => {
                self.connection.accept(stream);
                let name = header(&headers, "streamtype").to_owned();
                self.by_name.insert(name, stream);
                None
            }
            Event::Opened { .. } => None,
            Event::Data { stream, data, ends } if Some(stream) == stdin => {
                self.has_ended |= ends;
                Some(data).filter(|data| !data.is_empty())
            }
            Event::Data { .. } => None,
            Event::Reset { stream } => {
                self.has_ended |= Some(stream) == stdin;
                None
            }
        }
    }
}

impl Line for Streams {
    async fn say(&mut self, output: Output, data: &[u8]) {
        let name = match output {
            Output::Stdout => "stdout",
            Output::Stderr => "stderr",
        };
        if let Some(stream) = self.by_name.get(name) {
            self.connection.send(*stream, data, false).await;
        }
    }

    async fn hear(&mut self) -> Option<Bytes> {
        if let Some(early) = self.early.take() {
            return Some(early);
        }
        while !self.has_ended {
            let event = self.connection.next().await?;
            if let Some(data) = self.take(event) {
                return Some(data);
            }
        }
        None
    }

    async fn gone(&mut self) {
        while let Some(event) = self.connection.next().await {
            self.take(event);
        }
    }

    async fn end(&mut self, status: &str) {
        if let Some(stream) = self.by_name.get("error").copied() {
            self.connection.send(stream, status.as_bytes(), true).await;
        }
        for name in ["stdout", "stderr", "stdin", "resize"] {
            if let Some(stream) = self.by_name.get(name).copied() {
                self.connection.send(stream, &[], true).await;
            }
        }
        // The client reads to the end and goes; a connection that is shut first may cut off what it has not read.
        let _gone = tokio::time::timeout(PATIENCE, self.gone()).await;
        self.connection.close().await;
    }
}
