//! Health scripts for Argo CD: without one, it considers a resource healthy as soon as it exists.

use std::fmt::Write as _;

use kraken_testing::manifests::Document;

use super::MARK;

/// One script for all kinds: they have the same conditions.
const HEALTH: &str = include_str!("argocd_health.lua");

const HEAD: &str = "\
# Health of Kraken's kinds for Argo CD, merged into its own ConfigMap:
#
#   kubectl -n argocd patch configmap argocd-cm --patch-file config/argocd/argocd-cm.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
data:
";

/// The ConfigMap with the health script of each kind of these CRDs.
pub(super) fn config_map(crds: &[Document]) -> String {
    let mut text = format!("{MARK}\n{HEAD}");
    let script: String = HEALTH.lines().map(|line| format!("    {line}\n")).collect();
    let mut kinds: Vec<String> = crds
        .iter()
        .filter_map(|crd| {
            let spec = &crd.value["spec"];
            // Others have no health: they are as they are applied.
            spec.pointer("/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions")?;
            Some(format!("{}_{}", spec["group"].as_str()?, spec["names"]["kind"].as_str()?))
        })
        .collect();
    kinds.sort();
    for kind in kinds {
        let _ = write!(text, "  resource.customizations.health.{kind}: |\n{script}"); // writing to a String cannot fail
    }
    text
}
