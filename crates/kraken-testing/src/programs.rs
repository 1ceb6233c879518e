//! The programs that only tests use, besides those of the control plane and of a node.

use anyhow::Result;

use crate::go::{Ensure as _, Module, Program};
use crate::{cert_manager, gitops, kro, packaging, prometheus};

pub(crate) const ALL: [&[(&Module, &Program)]; 5] =
    [&packaging::PROGRAMS, &gitops::PROGRAMS, &kro::PROGRAMS, &cert_manager::PROGRAMS, &prometheus::PROGRAMS];

/// Builds the programs that are not in the cache. A test that builds one itself takes the processors from the tests beside
/// it for minutes, and these time out.
///
/// # Errors
/// When Go is absent or too old, a build fails, or the cache cannot be written.
pub async fn ensure() -> Result<()> {
    for (module, program) in ALL.into_iter().flatten() {
        module.ensure(program).await?;
    }
    Ok(())
}
