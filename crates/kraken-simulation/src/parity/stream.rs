//! An open watch.

use std::{collections::VecDeque, time::Duration};

use anyhow::{Context as _, Result};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;

/// The events of a watch as they come.
#[derive(Debug)]
pub(super) struct Stream {
    body: Body,
    buffer: Vec<u8>,
    events: VecDeque<Value>,
    ended: bool,
}

impl Stream {
    pub(super) fn new(body: Body) -> Self {
        Self { body, buffer: Vec::new(), events: VecDeque::new(), ended: false }
    }

    /// All events that are there: those that come until nothing comes for `quiet`, but waiting for `timeout` while there
    /// are fewer than `at_least` that count. The second says whether the watch has ended.
    pub(super) async fn read(
        &mut self,
        at_least: usize,
        quiet: Duration,
        timeout: Duration,
        counts: impl Fn(&Value) -> bool,
    ) -> Result<(Vec<Value>, bool)> {
        while !self.ended {
            let count = self.events.iter().filter(|event| counts(event)).count();
            let wait = if count < at_least { timeout } else { quiet };
            match tokio::time::timeout(wait, self.body.frame()).await {
                Err(_) => break,
                Ok(None | Some(Err(_))) => self.ended = true,
                Ok(Some(Ok(frame))) => {
                    self.buffer.extend_from_slice(frame.data_ref().map(AsRef::as_ref).unwrap_or_default());
                    self.split()?;
                }
            }
        }
        Ok((self.events.drain(..).collect(), self.ended))
    }

    fn split(&mut self) -> Result<()> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).context("an event is no JSON")?;
            // When they come is up to the server, but for the one that ends the objects that exist.
            let ends_initial = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
            if event["type"] != "BOOKMARK" || ends_initial.is_string() {
                self.events.push_back(event);
            }
        }
        Ok(())
    }
}
