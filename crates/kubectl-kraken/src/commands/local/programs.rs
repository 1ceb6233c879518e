//! The programs of the controllers: those of a build, or of a release.

use std::{
    convert::Infallible,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::embedded::{CONTROLLERS, Controller};

/// The controller without which no reference is resolved.
const HUB: &str = "hub";

/// Which controllers to run.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Programs {
    /// The folder with the programs of the controllers, such as kraken-hub, or those of a release [default: the folder of this program].
    #[arg(long, env = "KRAKEN_CONTROLLERS", value_name = "FOLDER")]
    controllers: Option<PathBuf>,
    /// Only these controllers, such as hub,aws-vpc [default: all that are in the folder].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,
}

/// `kraken-hub` and ` hub` are `hub`.
#[expect(clippy::unnecessary_wraps, reason = "the form of a parser of clap")]
fn name(text: &str) -> Result<String, Infallible> {
    Ok(text.trim().trim_start_matches("kraken-").to_owned())
}

/// A controller and its program.
#[derive(Clone, Debug)]
pub(super) struct Of {
    pub(super) controller: &'static Controller,
    pub(super) program: PathBuf,
}

/// The controllers to run.
#[derive(Clone, Debug)]
pub(super) struct Found {
    folder: PathBuf,
    programs: Vec<Of>,
}

impl Programs {
    /// The programs, of which there must be that of the hub.
    pub(super) fn found(&self) -> Result<Found> {
        let folder = if let Some(folder) = &self.controllers {
            std::path::absolute(folder).context("--controllers is no path")?
        } else {
            let own = std::env::current_exe().context("cannot find the path of this program")?;
            own.parent().context("this program has no folder")?.to_owned()
        };
        let known: Vec<&str> = CONTROLLERS.iter().map(|controller| controller.name).collect();
        if let Some(unknown) = self.only.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("there is no controller {unknown:?}; there are {}", known.join(", "));
        }
        let is_wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        let files = files(&folder)?;
        let mut programs = vec![];
        for controller in CONTROLLERS.iter().filter(|controller| is_wanted(controller.name)) {
            if let Some(file) = files.iter().find(|file| is_of(controller.name, file)) {
                programs.push(Of { controller, program: folder.join(file) });
            } else if !self.only.is_empty() || controller.name == HUB {
                bail!(
                    "{} has no program kraken-{}: set --controllers to the folder with the programs of a release, or to target/debug of a \
                     checkout after `cargo build --workspace --bins`",
                    folder.display(),
                    controller.name
                );
            }
        }
        if !programs.iter().any(|of| of.controller.name == HUB) {
            bail!("without the hub no reference is resolved: add hub to --only");
        }
        Ok(Found { folder, programs })
    }

    /// The arguments that choose the same programs.
    pub(super) fn arguments(&self, found: &Found) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--controllers".into(), found.folder.clone().into()];
        if !self.only.is_empty() {
            arguments.extend(["--only".into(), self.only.join(",").into()]);
        }
        arguments
    }
}

impl Found {
    pub(super) fn all(&self) -> impl Iterator<Item = &Of> {
        self.programs.iter()
    }
}

fn files(folder: &Path) -> Result<Vec<String>> {
    let unreadable = || format!("cannot read {}", folder.display());
    let mut names = vec![];
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        if entry.path().is_file() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    names.sort();
    Ok(names)
}

/// `kraken-hub`, or in a release `kraken-hub-0.1.0-linux-x86_64`. The image and the SBOM beside it have an extension.
fn is_of(controller: &str, file: &str) -> bool {
    let Some(rest) = file.strip_prefix("kraken-").and_then(|rest| rest.strip_prefix(controller)) else {
        return false;
    };
    let of_release = |rest: &str| {
        rest.contains("-linux-")
            && rest.starts_with(|first: char| first.is_ascii_digit())
            && Path::new(rest).extension().is_none_or(|extension| extension != "tar" && extension != "json")
    };
    rest.is_empty() || rest.strip_prefix('-').is_some_and(of_release)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(folder: &Path, files: &[&str], only: &[&str]) -> Result<Vec<String>> {
        for file in files {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let found = Programs { controllers: Some(folder.to_owned()), only }.found()?;
        Ok(found.all().map(|of| of.controller.name.to_owned()).collect())
    }

    #[test]
    fn programs_of_a_build_and_of_a_release_are_found() {
        for file in ["kraken-aws-vpc", "kraken-aws-vpc-0.1.0-rc.1-linux-x86_64"] {
            assert!(is_of("aws-vpc", file), "{file}");
        }
        for file in [
            "kraken-aws",
            "kraken-aws-vpc.d",
            "kraken-aws-vpc-0.1.0-linux-x86_64.oci.tar",
            "kraken-aws-vpc-old",
        ] {
            assert!(!is_of("aws-vpc", file), "{file}");
        }
        let folder = tempfile::tempdir().unwrap();
        let found =
            programs(folder.path(), &["kraken-hub", "kraken-aws-vpc", "kubectl-kraken", "kraken-x"], &[]);
        assert_eq!(found.unwrap(), ["aws-vpc", "hub"]);
        assert_eq!(programs(folder.path(), &[], &["hub"]).unwrap(), ["hub"]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            |files: &[&str], only: &[&str]| programs(folder.path(), files, only).unwrap_err().to_string();
        assert!(error(&[], &[]).contains("no program kraken-hub"));
        assert!(error(&["kraken-hub"], &["hub", "aws-vcp"]).contains("\"aws-vcp\"; there are aws-account"));
        assert!(error(&[], &["hub", "aws-vpc"]).contains("no program kraken-aws-vpc"));
        assert!(error(&["kraken-aws-vpc"], &["aws-vpc"]).contains("add hub to --only"));
    }
}
