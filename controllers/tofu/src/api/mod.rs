//! The kinds that users write to install and to configure providers. The kinds of the providers themselves are in a group of their own
//! ([`crate::names::GROUP`]), so that the right to write all of them includes no credentials.

mod config;
mod install;

pub use config::{ConfigValue, ProviderConfig, ProviderConfigSpec, ProviderConfigStatus};
pub use install::{
    InstalledType, ProgramInUse, ProviderInstall, ProviderInstallSpec, ProviderInstallStatus, Recovery,
    Switch, SwitchPolicy,
};

/// The API group.
pub const GROUP: &str = "providers.kraken-iac.eoinfennessy.com";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";
/// The kind of configurations.
pub const CONFIG: &str = "ProviderConfig";
