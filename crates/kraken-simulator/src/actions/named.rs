//! The instances in the parameters of a call.

use crate::form::Form;
use crate::refusal::Refusal;

/// The instance ids in the parameters of a call; at least one.
pub(super) fn instance_ids(form: &Form) -> Result<Vec<&str>, Refusal> {
    let ids = form.list("InstanceId");
    if ids.is_empty() {
        form.required("InstanceId")?;
    }
    Ok(ids)
}
