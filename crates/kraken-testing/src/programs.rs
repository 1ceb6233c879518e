//! The programs that only tests use, besides those of the control plane and of a node.

use anyhow::Result;

use crate::go::{Ensure as _, Module, Program};
use crate::{cert_manager, gitops, kro, packaging, prometheus};

pub(crate) const ALL: [&[(&Module, &Program)]; 5] =
    [&packaging::PROGRAMS, &gitops::PROGRAMS, &kro::PROGRAMS, &cert_manager::PROGRAMS, &prometheus::PROGRAMS];

/// Helm and Kustomize, which most tests of manifests need.
///
/// # Errors
/// As [`ensure`].
pub async fn ensure_packaging() -> Result<()> {
    for (module, program) in &packaging::PROGRAMS {
        module.ensure(program).await?;
    }
    Ok(())
}

/// Whether all programs are in the cache.
pub fn are_built() -> bool {
    let is_built = |(module, program): &(&Module, &Program)| {
        module.folder().is_ok_and(|folder| folder.join(program.name).is_file())
    };
    ALL.into_iter().flatten().all(is_built)
}

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

#[cfg(test)]
mod tests {
    use kraken_programs::control_plane;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn every_program_has_a_version() {
        let control_plane = control_plane::ALL.map(|program| (&control_plane::MODULE, program));
        for (module, program) in
            control_plane.iter().chain(&crate::node::PROGRAMS).chain(super::ALL.into_iter().flatten())
        {
            assert!(module.version(program).unwrap().starts_with('v'), "{program:?}");
            let mut hash = Sha256::new();
            hash.update(module.go_mod);
            hash.update(module.go_sum);
            module.files.iter().for_each(|(_, text)| hash.update(text));
            assert_eq!(module.hash(), hex::encode(hash.finalize())[..12]);
        }
    }
}
