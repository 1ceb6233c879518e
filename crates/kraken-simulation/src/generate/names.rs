//! The namespace of every stack, and the apiVersions of its manifests.

/// The namespace of every stack.
pub(super) const NAMESPACE: &str = "prod";
/// The apiVersion of the kinds of AWS.
pub(super) const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
/// The apiVersion of exports.
pub(super) const EXPORTS: &str = "configexport.kraken-iac.eoinfennessy.com/v1alpha1";
/// The apiVersion of Kraken's internal objects.
pub(super) const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";
