//! Operations: applied plans. The host of providers executes each at most once, finishes it whatever happens to this process, and keeps its
//! answer until the journal has it.

use jiff::Timestamp;
use kraken_kind::{Failure, FailureClass, Fate, Identity, runtime::clock};
use kraken_tfplugin::{Applied, CallError, Plan, Recalled, ResourceState, Ticket};
use serde_json::{Value as Json, json};
use tracing::info;

use super::TofuExternal;
use crate::journal::Journal;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    Change,
    Delete,
}

/// What an operation is, for the process that gets its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Label {
    pub(super) verb: Verb,
    /// The launch of the object.
    pub(super) epoch: i64,
    pub(super) since: Timestamp,
}

impl Verb {
    const ALL: [Self; 3] = [Self::Create, Self::Change, Self::Delete];

    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}

impl Label {
    /// Of an operation that begins now.
    pub(super) fn now(verb: Verb, epoch: i64) -> Self {
        Self { verb, epoch, since: clock::now() }
    }

    fn text(self) -> String {
        json!({"verb": self.verb.word(), "epoch": self.epoch, "since": self.since.to_string()}).to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        let verb = Verb::ALL.into_iter().find(|verb| json["verb"] == verb.word())?;
        Some(Self { verb, epoch: json["epoch"].as_i64()?, since: json["since"].as_str()?.parse().ok()? })
    }
}

impl TofuExternal {
    /// The permission for the next operation of a resource, which the journal records before a creation.
    pub(super) async fn ticket(&self, identity: &Identity, verb: Verb) -> Result<Ticket, Failure> {
        let reserved = self.provider.host().reserve(&identity.uid).await;
        reserved.map_err(|error| self.failed(verb.word(), &error, &[]))
    }

    /// Applies a plan and records the result, whatever it is. A result that is not recorded is [recalled](Self::recalled) later.
    pub(super) async fn apply(
        &self,
        identity: &Identity,
        ticket: Ticket,
        label: Label,
        plan: Plan,
    ) -> Result<ResourceState, Failure> {
        // A deletion has no configuration, and its state has the same secret values.
        let secrets = [self.secrets_of(&plan.config), self.secrets_of(&plan.prior.value)].concat();
        let action = self.action(label.verb.word());
        let applied = match self.provider.plugin().await {
            Err(failure) => Err((failure, false)),
            Ok(plugin) => plugin
                .apply(ticket.clone(), label.text(), plan)
                .await
                .map_err(|error| (self.provider.failed(&action, &error, &secrets), error.may_have_changed())),
        };
        let applied = match applied {
            Ok(applied) => applied,
            Err((failure, may_have_changed)) => {
                if label.verb == Verb::Create && !may_have_changed {
                    self.not_begun(identity, label.epoch).await;
                }
                return Err(failure);
            }
        };
        let mut journal = self.journals.read(identity).await?.unwrap_or_default();
        self.complete(&mut journal, label.epoch, &applied).await;
        let may_exist = !journal.is_over();
        self.journals.write(identity, journal).await?;
        self.acknowledge(ticket).await;
        let Applied { state, diagnostics } = applied;
        let errors: Vec<String> =
            diagnostics.iter().filter(|one| one.is_error()).map(ToString::to_string).collect();
        if errors.is_empty() {
            return Ok(state);
        }
        // An object may exist although its creation failed: observed next.
        let class = if may_exist { FailureClass::Transient } else { FailureClass::Terminal };
        Err(self.provider.failure(&action, class, &errors.join("; "), &secrets))
    }

    /// An answer that is not acknowledged is recalled, and recorded once more.
    async fn acknowledge(&self, ticket: Ticket) {
        let _ = self.provider.host().acknowledge(ticket).await;
    }

    /// The journal, with the answer of the last operation if the host still has it. A process that was killed did not record it.
    pub(super) async fn recalled(&self, identity: &Identity) -> Result<(Option<Journal>, Fate), Failure> {
        let mut journal = self.journals.read(identity).await?;
        let is_new = journal.is_none();
        let unanswered = journal.as_mut().and_then(|journal| {
            journal.entries.iter_mut().find(|entry| !entry.is_answered && entry.ticket.is_some())
        });
        let ticket = unanswered.as_ref().and_then(|entry| entry.ticket.clone());
        // A former resource of the name may have requested it.
        let uid = ticket.as_ref().map_or(&identity.uid, |ticket| &ticket.uid).clone();
        let recalled = self.provider.host().recall(&uid, ticket).await;
        let (ticket, label, answer) =
            match recalled.map_err(|error| self.failed("recall the operation of", &error, &[]))? {
                Recalled::Nothing => return Ok((journal, Fate::Known)),
                Recalled::NeverBegun => {
                    if let Some(entry) = unanswered {
                        info!(resource = identity.owner, "a creation that was recorded was not begun");
                        entry.is_answered = true;
                    }
                    return Ok((journal, Fate::Known));
                }
                Recalled::Running { label } => {
                    let label = Label::parse(&label);
                    let verb = label.map_or("change", |label| label.verb.word());
                    let since = label.map(|label| format!(" since {:.0}", label.since)).unwrap_or_default();
                    let what = format!("the host of providers executes \"{verb} {}\"{since}", self.type_name);
                    return match label {
                        Some(Label { verb: Verb::Create, .. }) => Ok((journal, Fate::Running(what))),
                        _ => Err(self.failed("observe", &CallError::NotBegun(what), &[])),
                    };
                }
                Recalled::Answered { ticket, label, answer } => (ticket, Label::parse(&label), answer),
            };
        let applied = answer.and_then(|answer| {
            let is_deletion = label.is_some_and(|label| label.verb == Verb::Delete);
            Applied::decode(&answer, &self.schema, ResourceState::default(), is_deletion)
        });
        match (applied, label) {
            (Ok(applied), Some(label)) => {
                info!(
                    resource = identity.owner,
                    verb = label.verb.word(),
                    "recorded the answer of an operation"
                );
                self.complete(journal.get_or_insert_default(), label.epoch, &applied).await;
            }
            (Err(error), Some(Label { verb: Verb::Create, .. })) => {
                if let Some(entry) = unanswered {
                    entry.is_answered = !error.may_have_changed();
                    // It is known that there is no answer.
                    entry.ticket = None;
                }
            }
            // An object that exists is read next.
            _ => {}
        }
        // Without an object there is nothing to record, and a namespace that is being deleted accepts no new journal.
        let journal = journal.filter(|journal| !is_new || !journal.is_over());
        if let Some(journal) = &journal {
            self.journals.write(identity, journal.clone()).await?;
        }
        self.acknowledge(ticket).await;
        Ok((journal, Fate::Known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_round_trips_and_anything_else_is_none() {
        for verb in Verb::ALL {
            let label = Label { verb, epoch: 3, since: "2026-01-31T12:00:00Z".parse().unwrap() };
            assert_eq!(Label::parse(&label.text()), Some(label));
        }
        assert_eq!(Label::parse(""), None);
        assert_eq!(Label::parse("{\"verb\": \"create\"}"), None);
    }
}
