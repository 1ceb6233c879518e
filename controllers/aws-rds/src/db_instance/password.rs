//! The password of the master user, which AWS never returns: a tag of the database has the hub's keyed digest of the one that was set
//! last. Pure.
//!
//! The digest tells whether a Secret has another value, and not which: without the key of the hub, nobody can try values. It is on the
//! database, because only that reliably reflects the calls that were made before a crash.

use kraken_aws::{
    Tags,
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, SECRET},
    prelude::*,
};

use super::{
    api::{Change, DBInstanceSpec, Desired},
    observed::Instance,
};

/// The key of the tag.
pub(super) const KEY: &str = "kraken-iac.eoinfennessy.com/master-user-password";

/// The tag of a database with the desired password; none if the hub gave no digest.
pub(super) fn tag(desired: &Desired) -> Option<Tags> {
    let digest = desired.master_user_password.as_ref()?.secret_digest()?;
    Some(Tags::from([(KEY.to_owned(), digest.to_owned())]))
}

impl DBInstanceSpec {
    /// Without a digest from the hub, it is unknown whether the password differs.
    pub(super) fn compare_password(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let wanted = desired.master_user_password.as_ref()?.secret_digest()?;
        let have = instance.tags.get(KEY);
        let shown = if have.is_some() { NOT_SHOWN } else { ABSENT };
        (have.map(String::as_str) != Some(wanted))
            .then(|| difference("masterUserPassword", SECRET, shown, Change::Password))
    }
}
