//! The body of a response: a whole one, or the events of a watch.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::Frame;
use hyper::body::Bytes;
use serde_json::Value;

use super::watch::Watch;

/// The body of a response.
pub enum Reply {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events without an end.
    #[doc(hidden)]
    Events(Box<Events>),
}

/// The events of a watch.
pub struct Events(Watch);

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("kind", &self.0.kind()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Self::Events(events) => events.fmt(f),
        }
    }
}

impl Reply {
    /// A JSON value.
    pub fn json(value: &Value) -> Self {
        Self::Whole(Some(value.to_string().into()))
    }

    /// A watch.
    pub(super) fn watch(watch: Watch) -> Self {
        Self::Events(Box::new(Events(watch)))
    }

    /// The whole body; nothing for a watch.
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes.clone().unwrap_or_default(),
            Self::Events(_) => Bytes::new(),
        }
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events.0.poll(context).map(|next| next.map(|next| next.map(Frame::data))),
        }
    }
}
