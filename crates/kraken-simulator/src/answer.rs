//! Responses of calls.

use super::cloud::Cloud;
use super::form::Form;
use super::markup::Xml;
use super::refusal::Refusal;

/// The result of an action.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) body: Xml,
    /// The changed or returned objects, for the journal.
    pub(super) ids: Vec<String>,
}

/// Executes one action.
pub(super) type Handler = fn(&mut Cloud, &Form) -> Result<Answer, Refusal>;

/// The default response of an action.
pub(super) fn done(ids: Vec<String>) -> Answer {
    let mut body = Xml::default();
    body.text("return", true);
    Answer { body, ids }
}

/// An empty response.
pub(super) fn nothing(id: &str) -> Answer {
    Answer { body: Xml::default(), ids: vec![id.to_owned()] }
}

impl Answer {
    /// A response about one object.
    pub(super) fn about(id: impl Into<String>, write: impl FnOnce(&mut Xml)) -> Self {
        let mut body = Xml::default();
        write(&mut body);
        Self { body, ids: vec![id.into()] }
    }
}
