//! What a look-up publishes: what it found, or, as long as nobody decided otherwise, what it found before. Pure.

use kraken_api::{FieldDiff, PlanAction};
use kraken_kind::{Finding, Unanswered};

use crate::{ids::listed, policy::approval::Proposal};

/// The path of an answer in plans.
const ANSWER: &str = "answer";

/// What is known of the answer that is published.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// Its ids; empty if there is none.
    pub ids: Vec<String>,
    /// Whether all of its objects exist.
    pub exists: bool,
    /// Whether the spec or a value in it was edited since: then a new answer is what the edit asks for.
    pub is_edited: bool,
}

/// What to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What was found.
    Answer(Vec<String>),
    /// What is published already. There is a newer answer, which a person may approve.
    Newer(Vec<String>),
    /// The same, but there is no answer any more that could replace it.
    Kept(Unanswered),
    /// Nothing: what is published stays as it is, although it does not exist any more. There may be a newer answer.
    Lost(Result<Vec<String>, Unanswered>),
    /// Nothing: what is published, if anything is, is of a former spec, or must not be kept.
    Unanswered(Unanswered),
}

/// Decides what to publish.
pub fn decide(finding: &Finding, published: &Published) -> Verdict {
    let is_kept = finding.pins && !published.is_edited && !published.ids.is_empty();
    match &finding.answer {
        Ok(found) if !is_kept || *found == published.ids => Verdict::Answer(found.clone()),
        Err(why) if !is_kept => Verdict::Unanswered(why.clone()),
        answer if !published.exists => Verdict::Lost(answer.clone()),
        Ok(found) => Verdict::Newer(found.clone()),
        Err(why) => Verdict::Kept(why.clone()),
    }
}

/// The plan to publish a newer answer.
pub fn proposal(newer: &[String], published: &[String]) -> Proposal {
    Proposal {
        action: PlanAction::Publish,
        what: listed(newer),
        changes: vec![FieldDiff::new(ANSWER, newer.join(", "), published.join(", "))],
        target: newer.join(","),
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::reasons::Reason;

    use super::*;

    fn why() -> Unanswered {
        Unanswered { reason: Reason::NotFound, message: "no image".to_owned() }
    }

    fn ids(id: &str) -> Vec<String> {
        vec![id.to_owned()]
    }

    fn decided(answer: Result<&str, Unanswered>, pins: bool, published: Published) -> Verdict {
        decide(&Finding { answer: answer.map(ids), pins, words: [].into() }, &published)
    }

    fn published(exists: bool, is_edited: bool) -> Published {
        Published { ids: ids("ami-1"), exists, is_edited }
    }

    #[test]
    fn a_first_answer_is_published() {
        assert_eq!(decided(Ok("ami-1"), true, Published::default()), Verdict::Answer(ids("ami-1")));
        assert_eq!(decided(Err(why()), true, Published::default()), Verdict::Unanswered(why()));
    }

    #[test]
    fn a_newer_answer_waits_for_a_person_unless_the_newest_one_is_wanted() {
        assert_eq!(decided(Ok("ami-2"), true, published(true, false)), Verdict::Newer(ids("ami-2")));
        assert_eq!(decided(Ok("ami-2"), false, published(true, false)), Verdict::Answer(ids("ami-2")));
        assert_eq!(decided(Ok("ami-1"), true, published(true, false)), Verdict::Answer(ids("ami-1")));
    }

    #[test]
    fn an_edit_asks_for_a_new_answer() {
        assert_eq!(decided(Ok("ami-2"), true, published(true, true)), Verdict::Answer(ids("ami-2")));
        assert_eq!(decided(Err(why()), true, published(true, true)), Verdict::Unanswered(why()));
    }

    #[test]
    fn an_answer_is_kept_although_the_search_finds_nothing_any_more() {
        assert_eq!(decided(Err(why()), true, published(true, false)), Verdict::Kept(why()));
        assert_eq!(decided(Err(why()), false, published(true, false)), Verdict::Unanswered(why()));
    }

    #[test]
    fn a_lost_answer_is_not_replaced_by_itself() {
        assert_eq!(decided(Ok("ami-2"), true, published(false, false)), Verdict::Lost(Ok(ids("ami-2"))));
        assert_eq!(decided(Err(why()), true, published(false, false)), Verdict::Lost(Err(why())));
        assert_eq!(decided(Ok("ami-2"), false, published(false, false)), Verdict::Answer(ids("ami-2")));
    }
}
