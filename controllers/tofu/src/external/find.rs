//! What became of a creation whose response is not known.

use kraken_kind::{Failure, Fate, Identity, runtime::clock};
use kraken_tfplugin::{Applied, CallError, Diagnostic, ResourceState};
use tokio::time::Instant;

use super::{SETTLES, TofuExternal};
use crate::{
    journal::{Entry, Journal, Stored},
    marker,
};

/// What data sources say when nothing matches, in lower case.
const NOTHING: [&str; 3] = ["no result", "not found", "returned no"];

/// Whether these diagnostics say that nothing matches.
pub(super) fn say_nothing(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|one| {
        let text = one.to_string().to_lowercase();
        NOTHING.iter().any(|nothing| text.contains(nothing))
    })
}

/// What a search for the object of a creation says.
enum Search {
    Found(ResourceState),
    Nothing,
    /// Nothing can be said; the text says why.
    Unclear(&'static str),
}

impl TofuExternal {
    /// Searches for what this creation may have created, and completes the entry if that is known.
    pub(super) async fn resolve(&self, identity: &Identity, entry: &mut Entry) -> Result<Fate, Failure> {
        let what = format!(
            "the creation of {} at {:.0} has no response: the provider's process, or its host, ended",
            self.type_name, entry.at
        );
        let state = match self.search(entry).await? {
            Search::Unclear(why) => return Ok(Fate::Unknown(format!("{what}{why}"))),
            Search::Nothing => return Ok(self.nothing(identity, entry, &what)),
            Search::Found(state) => state,
        };
        self.nothing_since.lock().remove(&identity.uid);
        entry.is_answered = true;
        entry.state = Stored::of(self.schema.version, &state);
        Ok(Fate::Known)
    }

    /// Completes the entry of this launch with the provider's answer. A creation that failed without a state may have created its
    /// object all the same: the provider's own request may have lost its response. If its objects can be found, that is asked.
    pub(super) async fn complete(&self, journal: &mut Journal, epoch: i64, applied: &Applied) {
        journal.complete(epoch, self.schema.version, applied, clock::now());
        if applied.state.exists() || !applied.is_failed() {
            return;
        }
        let is_failed = |entry: &&mut Entry| entry.epoch == epoch && entry.state.is_none();
        let Some(entry) = journal.entries.iter_mut().find(is_failed) else { return };
        if entry.description.is_none() {
            return;
        }
        match self.search(entry).await {
            Ok(Search::Nothing) => {}
            Ok(Search::Found(state)) => entry.state = Stored::of(self.schema.version, &state),
            // Asked again.
            Ok(Search::Unclear(_)) | Err(_) => (entry.is_answered, entry.ticket) = (false, None),
        }
    }

    async fn search(&self, entry: &Entry) -> Result<Search, Failure> {
        let Some(description) = &entry.description else { return Ok(Search::Unclear("")) };
        let Some(source) = self.provider.schema().data_sources.get(&self.type_name).cloned() else {
            return Ok(Search::Unclear(""));
        };
        let plugin = self.provider.plugin().await?;
        let query = marker::query(&source, description);
        let answer = match plugin.read_data_source(&self.type_name, &query).await {
            Ok(answer) => answer.value,
            Err(CallError::Provider(diagnostics)) if say_nothing(&diagnostics) => return Ok(Search::Nothing),
            Err(error) => return Err(self.failed("search for", &error, &[])),
        };
        let Some(id) = marker::found(&answer, marker::in_text(description)) else {
            return Ok(Search::Unclear(", and its data source returned another object"));
        };
        Ok(self.imported(&id).await?.map_or(Search::Nothing, Search::Found))
    }

    /// Nothing was found. It counts once nothing was found for some time.
    fn nothing(&self, identity: &Identity, entry: &mut Entry, what: &str) -> Fate {
        let mut all = self.nothing_since.lock();
        let since = *all.entry(identity.uid.clone()).or_insert_with(Instant::now);
        if since.elapsed() < SETTLES {
            return Fate::Running(format!("{what}; searching for the object for {} s", SETTLES.as_secs()));
        }
        all.remove(&identity.uid);
        entry.is_answered = true;
        Fate::Known
    }
}
