//! `lifecycle.replace`: whether an object with fields that cannot be changed in place may be replaced.

use kraken_api::{Lifecycle, Replace};

use crate::policy::protection;

/// Whether it may; if not, the text to append to the reason why the field cannot be changed.
pub fn permits(lifecycle: &Lifecycle, is_edited: bool) -> Result<(), &'static str> {
    if lifecycle.replace == Replace::Never {
        Err("")
    } else if !is_edited {
        Err("; drift alone does not cause a replacement: edit the spec to replace the object")
    } else if protection::holds_replacement(lifecycle) {
        Err("; the object is not replaced while spec.lifecycle.protect is true")
    } else {
        Ok(())
    }
}

/// Whether the replaced objects are deleted next, `is_up` meaning that their successors are in place. `Never`, set while a replacement is
/// in progress, must not leave the resource without objects.
pub fn is_deletion_due(lifecycle: &Lifecycle, is_up: bool) -> bool {
    is_up || lifecycle.replace == Replace::DeleteFirst
}
