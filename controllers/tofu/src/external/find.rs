//! What became of a creation whose response is not known.

use kraken_spoke::{Failure, Fate, Identity};
use kraken_tfplugin::CallError;
use tokio::time::Instant;

use super::{SETTLES, TofuExternal};
use crate::{
    journal::{Entry, Stored},
    marker,
};

/// What data sources say when nothing matches, in lower case.
const NOTHING: [&str; 3] = ["no result", "not found", "returned no"];

impl TofuExternal {
    /// Searches for what this creation may have created, and completes the entry if that is known.
    pub(super) async fn resolve(&self, identity: &Identity, entry: &mut Entry) -> Result<Fate, Failure> {
        let what = format!(
            "the creation of {} at {:.0} has no response: the provider's process, or its host, ended",
            self.type_name, entry.at
        );
        let Some(description) = entry.description.clone() else {
            return Ok(Fate::Unknown(what));
        };
        let Some(source) = self.provider.schema().data_sources.get(&self.type_name).cloned() else {
            return Ok(Fate::Unknown(what));
        };
        let plugin = self.provider.plugin().await?;
        let query = marker::query(&source, &description);
        let answer = match plugin.read_data_source(&self.type_name, &query).await {
            Ok(answer) => answer.value,
            Err(CallError::Provider(diagnostics))
                if diagnostics.iter().any(|one| {
                    let text = one.to_string().to_lowercase();
                    NOTHING.iter().any(|nothing| text.contains(nothing))
                }) =>
            {
                return Ok(self.nothing(identity, entry, &what));
            }
            Err(error) => return Err(self.failed("search for", &error, &[])),
        };
        let Some(id) = marker::found(&answer, &marker::of(identity, entry.epoch)) else {
            return Ok(Fate::Unknown(format!("{what}, and its data source returned another object")));
        };
        let Some(state) = self.imported(&id).await? else { return Ok(self.nothing(identity, entry, &what)) };
        self.nothing_since.lock().remove(&identity.uid);
        entry.is_answered = true;
        entry.state = Stored::of(self.schema.version, &state);
        Ok(Fate::Known)
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
