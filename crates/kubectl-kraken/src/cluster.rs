//! Requests to the API server: which cluster, its kinds, and lists of objects. Client required.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use futures::future::join_all;
use kube::{
    Api, Client, Config,
    api::{DynamicObject, ListParams},
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{
    connection::{self, Connection},
    discovery::{Kind, Kinds, Unknown},
    failure::{explain, is_forbidden},
    target::Target,
};

/// A cluster that does not accept a connection in this time is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A watch gets a bookmark about once a minute.
const READ_TIMEOUT: Duration = Duration::from_secs(100);
/// Objects per page, as with kubectl.
const PAGE: u32 = 500;

/// A connection to one cluster, and the kinds of Kraken in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) server: String,
    pub(crate) kinds: Kinds,
    /// The namespace of the flags or the context.
    pub(crate) namespace: String,
    /// The namespace of lists; `None` for all.
    pub(crate) scope: Option<String>,
    /// Whether the namespace is one of the flags.
    pub(crate) is_chosen: bool,
}

/// Objects of several kinds, and the kinds that may not be listed.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) objects: Vec<DynamicObject>,
    pub(crate) forbidden: Vec<String>,
}

impl Cluster {
    /// Connects and discovers the kinds.
    pub(crate) async fn connect(connection: &Connection) -> Result<Self> {
        let mut cluster = Self::without_kinds(connection).await?;
        let groups = cluster.client.list_api_groups_aggregated().await;
        cluster.kinds =
            Kinds::of(groups.map_err(|error| explain(error, "discover the kinds", &cluster.server))?);
        if cluster.kinds.users().next().is_none() {
            bail!(
                "the cluster at {} has no kinds of Kraken: install it (kubectl apply --server-side -k config/default), or choose \
                 another --context",
                cluster.server
            );
        }
        Ok(cluster)
    }

    /// Only connects, for commands about the installation.
    pub(crate) async fn without_kinds(connection: &Connection) -> Result<Self> {
        let mut config = config(connection).await?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.read_timeout = Some(READ_TIMEOUT);
        // A person is waiting: the first answer is better than one after minutes.
        config.default_retry = false;
        if let Some(user) = &connection.impersonate {
            config.auth_info.impersonate = Some(user.clone());
        }
        let namespace = connection.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let scope = (!connection.all_namespaces).then(|| namespace.clone());
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client =
            Client::try_from(config).with_context(|| format!("cannot use the configuration of {server}"))?;
        let is_chosen = connection.namespace.is_some();
        Ok(Self { client, server, kinds: Kinds::default(), namespace, scope, is_chosen })
    }

    /// The same cluster with another namespace.
    pub(crate) fn of_namespace(&self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), scope: Some(namespace.to_owned()), ..self.clone() }
    }

    /// The kind of this name, or an error that says what to write.
    pub(crate) fn kind(&self, word: &str) -> Result<&Kind> {
        self.kinds.find(word).map_err(|unknown| match unknown {
            Unknown::NotFound(Some(similar)) => {
                anyhow!("no kind of Kraken is named {word:?}; did you mean {similar}?")
            }
            Unknown::NotFound(None) => {
                let names: Vec<_> = self.kinds.users().map(|kind| kind.resource.kind.as_str()).collect();
                anyhow!("no kind of Kraken is named {word:?}; there are {}", names.join(", "))
            }
            Unknown::Ambiguous(candidates) => {
                anyhow!("{word:?} is ambiguous; write {}", candidates.join(" or "))
            }
        })
    }

    /// The objects of a kind in a scope.
    pub(crate) fn api(&self, kind: &Kind, scope: Option<&str>) -> Api<DynamicObject> {
        match scope {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind.resource),
            None => Api::all_with(self.client.clone(), &kind.resource),
        }
    }

    /// One object, or an error that names it.
    pub(crate) async fn get(&self, target: &Target) -> Result<(&Kind, DynamicObject)> {
        if self.scope.is_none() {
            bail!("a resource by its name requires one namespace: use -n instead of -A");
        }
        let kind = self.kind(&target.kind)?;
        let named = format!("{}/{}", kind.resource.kind, target.name);
        let found = self.api(kind, Some(&self.namespace)).get_opt(&target.name).await;
        let doing = format!("get {named} in namespace {}", self.namespace);
        let found = found.map_err(|error| explain(error, &doing, &self.server))?;
        let object =
            found.ok_or_else(|| anyhow!("{named} does not exist in namespace {}", self.namespace))?;
        Ok((kind, kind.typed(object)))
    }

    /// All objects that users wrote, of all kinds at once.
    pub(crate) async fn resources(&self) -> Result<Listed> {
        let kinds: Vec<_> = self.kinds.users().collect();
        let listed = self.list(&kinds).await?;
        if listed.forbidden.len() == kinds.len() {
            let (whose, role) = match &self.scope {
                Some(namespace) => {
                    (format!("in namespace {namespace}"), "a RoleBinding to the ClusterRole view")
                }
                None => ("of all namespaces".to_owned(), "a ClusterRoleBinding to the ClusterRole view"),
            };
            bail!(
                "you may not list Kraken's resources {whose}: ask for {role}, or choose a namespace with -n"
            );
        }
        Ok(listed)
    }

    /// All objects of these kinds, which are listed concurrently.
    pub(crate) async fn list(&self, kinds: &[&Kind]) -> Result<Listed> {
        let each =
            kinds.iter().map(|kind| async { (*kind, pages(&self.api(kind, self.scope.as_deref())).await) });
        let mut all = Listed::default();
        for (kind, listed) in join_all(each).await {
            match listed {
                Ok(objects) => all.objects.extend(objects.into_iter().map(|object| kind.typed(object))),
                Err(error) if is_forbidden(&error) => all.forbidden.push(kind.resource.plural.clone()),
                Err(error) => {
                    return Err(explain(error, &format!("list {}", kind.full_name()), &self.server));
                }
            }
        }
        Ok(all)
    }
}

impl Listed {
    /// Says on standard error what is missing in the output.
    pub(crate) fn warn(&self) {
        if !self.forbidden.is_empty() {
            eprintln!("not shown, because you may not list them: {}", self.forbidden.join(", "));
        }
    }
}

async fn pages(api: &Api<DynamicObject>) -> kube::Result<Vec<DynamicObject>> {
    let mut objects = vec![];
    let mut params = ListParams::default().limit(PAGE);
    loop {
        match api.list(&params).await {
            Ok(page) => {
                objects.extend(page.items);
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => params = params.continue_token(&token),
                    None => return Ok(objects),
                }
            }
            // The snapshot of the first page was compacted: one list without pages is consistent.
            Err(kube::Error::Api(status)) if status.code == 410 => {
                return Ok(api.list(&ListParams::default()).await?.items);
            }
            Err(error) => return Err(error),
        }
    }
}

async fn config(connection: &Connection) -> Result<Config> {
    let options = KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    let is_named = connection.kubeconfig.is_some() || connection.context.is_some();
    let listed = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty());
    let read = match (&connection.kubeconfig, listed) {
        (Some(path), _) => Kubeconfig::read_from(path),
        (None, Some(list)) => connection::merged(&list),
        (None, None) => Kubeconfig::read(),
    };
    let found = match read {
        Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(config) => Ok(config),
        // In a pod there is a service account instead.
        Err(_) if !is_named && std::env::var_os("KUBECONFIG").is_none() && Config::incluster().is_ok() => {
            Ok(Config::incluster()?)
        }
        Err(error) => Err(anyhow!(
            "no cluster: {error}; set KUBECONFIG or --kubeconfig, and --context to one of `kubectl config get-contexts`"
        )),
    }
}
