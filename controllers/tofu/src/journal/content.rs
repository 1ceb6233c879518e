//! The content of the Secret. Pure.

use kraken_tfplugin::Ticket;
use serde_json::{Value as Json, json};

use super::{Entry, Journal, Stored};

/// The journal as JSON, with the UID of its resource.
pub(super) fn encode(uid: &str, journal: &Journal) -> Json {
    let entries = journal.entries.iter().map(|entry| {
        let state = entry.state.as_ref().map(|state| {
            json!({"version": state.version, "value": state.value, "private": hex::encode(&state.private)})
        });
        json!({
            "epoch": entry.epoch, "at": entry.at.to_string(), "description": entry.description,
            "answered": entry.is_answered, "state": state, "ticket": entry.ticket.as_ref().map(|ticket| {
                json!({"host": ticket.host, "uid": ticket.uid, "number": ticket.number})
            }),
        })
    });
    json!({"resource": uid, "entries": entries.collect::<Vec<_>>(), "outputs": journal.outputs})
}

/// The UID of its resource, and the journal; `None` if it is none.
pub(super) fn decode(text: &[u8]) -> Option<(String, Journal)> {
    let json: Json = serde_json::from_slice(text).ok()?;
    let entry = |entry: &Json| {
        let state = match &entry["state"] {
            Json::Null => None,
            state => Some(Stored {
                version: state["version"].as_i64()?,
                value: state["value"].clone(),
                private: hex::decode(state["private"].as_str()?).ok()?,
            }),
        };
        Some(Entry {
            epoch: entry["epoch"].as_i64()?,
            at: entry["at"].as_str()?.parse().ok()?,
            description: entry["description"].as_str().map(str::to_owned),
            ticket: ticket(&entry["ticket"]),
            is_answered: entry["answered"].as_bool()?,
            state,
        })
    };
    let entries = json["entries"].as_array()?.iter().map(entry).collect::<Option<_>>()?;
    let journal = Journal { entries, outputs: json["outputs"].as_str().map(str::to_owned) };
    Some((json["resource"].as_str()?.to_owned(), journal))
}

fn ticket(json: &Json) -> Option<Ticket> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    Some(Ticket { host: text("host")?, uid: text("uid")?, number: json["number"].as_u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_round_trips_and_anything_else_is_none() {
        let stored = Stored { version: 1, value: json!({"id": "x"}), private: vec![0, 255] };
        let entry = |is_answered: bool, state| Entry {
            epoch: 3,
            at: "2026-01-31T12:00:00Z".parse().unwrap(),
            description: Some("web".to_owned()),
            ticket: (!is_answered).then(|| Ticket { host: "a".to_owned(), uid: "u".to_owned(), number: 7 }),
            is_answered,
            state,
        };
        let entries = vec![entry(false, None), entry(true, Some(stored))];
        let journal = Journal { entries, outputs: Some("web-key".to_owned()) };
        let text = encode("u", &journal).to_string();
        assert_eq!(decode(text.as_bytes()), Some(("u".to_owned(), journal)));
        let wrong =
            [r#"{"resource": "u", "entries": [{}]}"#, r#"{"resource": "u", "entries": [{"epoch": "1"}]}"#];
        for text in ["", "{}", r#"{"entries": []}"#].into_iter().chain(wrong) {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        let state = Stored { version: 1, value: json!({"password": "hunter2"}), private: vec![] };
        assert!(!format!("{state:?}").contains("hunter2"));
    }
}
