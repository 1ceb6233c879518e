//! The digest of what a status records of the remote objects, so that an edit by another client is noticed. Without it, an id that
//! was removed from the status would be forgotten after a restart. It protects from mistakes, not from a client that computes the
//! digest. Pure.

use kraken_api::ResourceStatus;
use serde_json::json;

use crate::model::in_place;

/// The digest of the record of the resource with this UID; `None` if nothing is on record.
pub(crate) fn of(uid: &str, status: &ResourceStatus) -> Option<String> {
    let ResourceStatus { external_ids, epoch, .. } = status;
    let is_empty = external_ids.is_empty() && epoch.is_none();
    (!is_empty).then(|| in_place::digest(uid, &json!([external_ids, epoch]).to_string(), 8))
}

/// Whether the record is as this controller wrote it. A status without a record is: it proves nothing.
pub(crate) fn is_intact(uid: &str, status: &ResourceStatus) -> bool {
    let digest = of(uid, status);
    digest.is_none() || digest == status.record_digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> ResourceStatus {
        let ids = vec!["i-1".to_owned(), "i-2".to_owned()];
        let status = ResourceStatus { external_ids: ids, epoch: Some(1), ..ResourceStatus::default() };
        ResourceStatus { record_digest: of("u-1", &status), ..status }
    }

    #[test]
    fn a_record_is_intact_as_it_was_written_and_for_its_resource_only() {
        assert!(is_intact("u-1", &written()));
        assert!(!is_intact("u-2", &written()));
        let edits: [fn(&mut ResourceStatus); 5] = [
            |status| status.external_ids.truncate(1),
            |status| status.external_ids.clear(),
            |status| status.external_ids.push("i-3".to_owned()),
            |status| status.epoch = Some(2),
            |status| status.record_digest = None,
        ];
        for (number, edit) in edits.iter().enumerate() {
            let mut status = written();
            edit(&mut status);
            assert!(!is_intact("u-1", &status), "edit {number}");
        }
    }

    #[test]
    fn a_status_without_a_record_is_intact() {
        let nothing = ResourceStatus::default();
        assert_eq!(of("u-1", &nothing), None);
        assert!(is_intact("u-1", &nothing));
        assert!(is_intact("u-1", &ResourceStatus { record_digest: Some("0".to_owned()), ..nothing }));
    }
}
