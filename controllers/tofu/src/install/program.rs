//! The program of a ProviderInstall, and the one that it replaces. Pure.

use std::path::Path;

use crate::{
    api::{ProgramInUse, ProviderInstall, ProviderInstallSpec},
    provider::ProgramOptions,
};

/// The program that a spec names.
pub(super) fn wanted(spec: &ProviderInstallSpec) -> ProgramInUse {
    let (path, sha256) = (spec.path.clone(), spec.sha256.clone());
    ProgramInUse { path, sha256, environment: spec.environment.clone() }
}

/// The program that is in use and that the spec replaces, if there is one.
pub(super) fn former(install: &ProviderInstall) -> Option<ProgramInUse> {
    let used = install.status.as_ref()?.program.clone()?;
    (used != wanted(&install.spec)).then_some(used)
}

/// What it is started with.
pub(super) fn options(folder: &Path, program: &ProgramInUse) -> ProgramOptions {
    ProgramOptions {
        path: folder.join(&program.path),
        sha256: Some(program.sha256.clone()),
        environment: program.environment.clone(),
    }
}
