//! A user with limited permissions: a service account with a real token, bound to a role in one namespace.

use anyhow::{Result, bail};
use kraken_testing::manifests;
use kube::{
    Client,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::TestEnv;

/// Requests with the permissions of one user, in the namespace of a test.
pub struct TestUser {
    client: Client,
    namespace: String,
}

impl std::fmt::Debug for TestUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a user in {}", self.namespace)
    }
}

impl TestUser {
    /// A new user with these RBAC rules (as JSON) in the test's namespace and no other permissions.
    ///
    /// # Errors
    /// If the control plane does not respond.
    pub async fn new(test_env: &TestEnv, name: &str, rules: &Value) -> Result<Self> {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules,
        });
        test_env.apply(&role.to_string()).await?;
        Self::bound(test_env, name, "Role", name).await
    }

    /// A new user with an existing role.
    ///
    /// # Errors
    /// If the control plane does not respond.
    pub async fn bound(test_env: &TestEnv, name: &str, kind: &str, role: &str) -> Result<Self> {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": test_env.ns.name}],
        });
        test_env.apply(&format!("{account}\n---\n{binding}")).await?;
        let client = test_env.env.control_plane.client_for_service_account(&test_env.ns.name, name).await?;
        Ok(Self { client, namespace: test_env.ns.name.clone() })
    }

    /// Applies YAML documents, those without a namespace in the user's own.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn apply(&self, yaml: &str) -> Result<()> {
        for document in manifests::parse("the user's YAML", yaml)? {
            let resource = ApiResource::from_gvk(&document.gvk);
            let namespace = document.namespace.as_deref().unwrap_or(&self.namespace);
            let api = kube::Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
            let params = PatchParams::apply("user").force();
            api.patch(&document.name, &params, &Patch::Apply(&document.value)).await?;
        }
        Ok(())
    }

    /// The API server's error for a request that must be rejected.
    ///
    /// # Errors
    /// When it is accepted.
    pub async fn refused(&self, yaml: &str) -> Result<String> {
        match self.apply(yaml).await {
            Ok(()) => bail!("accepted, and should not be:\n{yaml}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// The API of a kind of AWS or of the hub in the user's namespace.
    pub fn api(&self, group: &str, kind: &str) -> kube::Api<DynamicObject> {
        let (group, version) = match group {
            "" => (String::new(), "v1"),
            group => (format!("{group}.kraken-iac.eoinfennessy.com"), "v1alpha1"),
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, version, kind));
        kube::Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Changes some fields of an object of AWS.
    ///
    /// # Errors
    /// The API server's error.
    pub async fn patch(&self, kind: &str, name: &str, patch: &Value) -> Result<()> {
        self.api("aws", kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }
}
