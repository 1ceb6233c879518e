//! What prevents that a journal is read or written.

use kraken_kind::{Failure, FailureClass, Identity, runtime::patch::ApiError};

pub(super) fn failed(error: &ApiError) -> Failure {
    Failure {
        class: FailureClass::Transient,
        action: "failed to access the journal of the resource".to_owned(),
        code: String::new(),
        message: error.to_string(),
    }
}

/// Another resource of the name has a journal that is not over.
pub(super) fn left(identity: &Identity) -> Failure {
    Failure {
        class: FailureClass::Transient,
        action: "failed to use the journal of the resource".to_owned(),
        code: String::new(),
        message: format!("it is of a resource {} with another UID; looking again", identity.owner),
    }
}

pub(super) fn unreadable(namespace: &str, name: &str) -> Failure {
    Failure {
        class: FailureClass::Terminal,
        action: "failed to read the journal of the resource".to_owned(),
        code: String::new(),
        message: format!(
            "the Secret {namespace}/{name} was edited and is no journal; restore it, or delete it if status.externalIds names the object"
        ),
    }
}
