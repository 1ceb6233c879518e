//! The observed parameter, which is the published state. It never has the value of a `SecureString`.

use kraken_aws::{Tags, aws_observed, lookup::Tagged, resource::RemoteObject};
use kraken_kind::{Unanswered, api::reasons::Reason};

use crate::ssm::types;

/// Before the value in an id; names have none of these characters.
const TEXT: &str = "=";
const LIST: &str = "[]=";

#[aws_observed]
pub(crate) struct Parameter {
    pub(super) name: String,
    pub(super) value: String,
    /// Of a `StringList`.
    pub(super) values: Option<Vec<String>>,
    /// `NAME=VALUE`: a value that is kept needs no call, and no version of the parameter that still exists.
    #[serde(skip)]
    pub(super) id: String,
    /// Why its value is not read.
    #[serde(skip)]
    pub(super) refusal: Refusal,
    /// None: they are not read.
    #[serde(skip)]
    pub(super) tags: Tags,
}

/// Why a value is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    #[default]
    None,
    /// It is a `SecureString`.
    Secret,
    /// AWS's message.
    Denied(String),
}

impl Parameter {
    fn text(name: &str, value: &str) -> Self {
        let id = format!("{name}{TEXT}{value}");
        Self { name: name.to_owned(), value: value.to_owned(), id, ..Self::default() }
    }

    fn list(name: &str, value: &str) -> Self {
        let values = value.split(',').map(str::to_owned).collect();
        let id = format!("{name}{LIST}{value}");
        Self { values: Some(values), id, ..Self::text(name, value) }
    }

    /// One whose value is not read.
    pub(super) fn refused(name: &str, refusal: Refusal) -> Self {
        Self { name: name.to_owned(), id: name.to_owned(), refusal, ..Self::default() }
    }

    /// The parameter with this id, as it was when it was found.
    pub(super) fn of_id(id: &str) -> Option<Self> {
        let (before, value) = id.split_once(TEXT)?;
        Some(match before.strip_suffix(LIST.trim_end_matches(TEXT)) {
            Some(name) => Self::list(name, value),
            None => Self::text(before, value),
        })
    }

    pub(super) fn unanswered(&self) -> Option<Unanswered> {
        let name = &self.name;
        let (reason, message) = match &self.refusal {
            Refusal::None => return None,
            Refusal::Secret => (
                Reason::InvalidSpec,
                format!(
                    "spec.name: {name} is a SecureString, whose value is neither read nor published: let the program that needs it read it from AWS, \
                     or use a Secret of Kubernetes; only values of the types String and StringList are looked up"
                ),
            ),
            Refusal::Denied(why) => {
                (Reason::CloudRefused, format!("failed to read the parameter {name}: {why}"))
            }
        };
        Some(Unanswered { reason, message })
    }
}

impl From<types::Parameter> for Parameter {
    fn from(sdk: types::Parameter) -> Self {
        let (name, value) = (sdk.name.unwrap_or_default(), sdk.value.unwrap_or_default());
        match sdk.r#type {
            Some(types::ParameterType::String) => Self::text(&name, &value),
            Some(types::ParameterType::StringList) => Self::list(&name, &value),
            // Also of a type that AWS may add.
            _ => Self::refused(&name, Refusal::Secret),
        }
    }
}

impl Tagged for Parameter {
    fn id(&self) -> &str {
        &self.id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Parameter {}
