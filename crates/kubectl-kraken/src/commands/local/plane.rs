//! The control plane of this machine: etcd, kube-apiserver and kube-controller-manager, and who may use it.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use kraken_local::{
    assets::Assets,
    control_plane::{self, EtcdPorts, Start, WITHOUT_NODES},
    kubeconfig,
    pki::{Authority, token, write_private},
    ports::{PORT_ATTEMPTS, free_port},
    process::{Process, Spec},
};
use kube::Client;

use super::manifests::NAMESPACE;

const READY_WITHIN: Duration = Duration::from_mins(1);
/// More garbage collections than by default: the API server takes 370 MiB after its first start and not 620, which then takes 0.6 s longer.
const SMALL: [(&str, &str); 1] = [("GOGC", "75")];

/// Certificates and tokens, which are new at each start: none outlives the processes that accept it.
pub(super) struct Access {
    folder: PathBuf,
    authority: Authority,
    admin: String,
    controllers: BTreeMap<String, String>,
}

impl Access {
    /// For these service accounts, such as `kraken-hub`. kube-apiserver knows each as the service account that its roles are bound to.
    pub(super) fn new(folder: &Path, accounts: impl Iterator<Item = String>) -> Result<Self> {
        let authority = Authority::new("kraken-local")?;
        authority.write(folder, [])?;
        Authority::write_etcd(folder)?;
        let admin = token()?;
        let controllers =
            accounts.map(|account| Ok((account, token()?))).collect::<Result<BTreeMap<_, _>>>()?;
        let line = |(account, token): (&String, &String)| {
            format!(
                "{token},system:serviceaccount:{NAMESPACE}:{account},{account},\"system:serviceaccounts,\
                 system:serviceaccounts:{NAMESPACE}\"\n"
            )
        };
        let lines = format!(
            "{admin},admin,admin,system:masters\n{}",
            controllers.iter().map(line).collect::<String>()
        );
        write_private(&folder.join("tokens.csv"), &lines)?;
        Ok(Self { folder: folder.to_owned(), authority, admin, controllers })
    }

    /// Writes the kubeconfig of a service account.
    pub(super) fn kubeconfig(&self, server: &str, account: &str) -> Result<PathBuf> {
        let token = self.controllers.get(account).with_context(|| format!("{account} has no token"))?;
        let path = self.folder.join(format!("{account}.kubeconfig"));
        kubeconfig::write(&path, server, self.authority.pem(), account, token)?;
        Ok(path)
    }
}

/// A running database and API server, each with what it is started by again.
pub(super) struct Plane {
    pub(super) apiserver: (Process, Spec),
    pub(super) etcd: (Process, Spec),
    /// The port of etcd's `/health`.
    pub(super) health: Option<u16>,
    pub(super) server: String,
    pub(super) client: Client,
}

impl Plane {
    /// Starts both on free ports, with the stored data.
    pub(super) async fn start(assets: &Assets, folder: &Path, access: &Access) -> Result<Self> {
        let (etcd, ports) = etcd(assets, folder).await?;
        let deadline = Instant::now() + READY_WITHIN;
        for _ in 0..PORT_ATTEMPTS {
            let port = free_port()?;
            let spec = control_plane::apiserver(assets, folder, Ipv4Addr::LOCALHOST, port, &ports.url())
                .args(WITHOUT_NODES)
                .envs(SMALL);
            let mut apiserver = Process::spawn(&spec)?;
            let server = format!("https://127.0.0.1:{port}");
            let client = control_plane::admin(folder, &server, access.authority.pem(), &access.admin).await?;
            match control_plane::apiserver_ready(&mut apiserver, &client, deadline).await? {
                Start::Ready => {
                    return Ok(Self {
                        apiserver: (apiserver, spec),
                        etcd,
                        health: ports.health,
                        server,
                        client,
                    });
                }
                Start::LostItsPort => {}
            }
        }
        bail!("kube-apiserver lost its port to other processes {PORT_ATTEMPTS} times")
    }
}

/// One that runs already, after a supervisor that was killed, holds the lock of the data until it has ended; the new one waits for it.
async fn etcd(assets: &Assets, folder: &Path) -> Result<((Process, Spec), EtcdPorts)> {
    for _ in 0..PORT_ATTEMPTS {
        let ports = EtcdPorts { clients: free_port()?, peers: free_port()?, health: Some(free_port()?) };
        let spec = control_plane::etcd(assets, folder, ports);
        let mut process = Process::spawn(&spec)?;
        match control_plane::etcd_ready(&mut process, ports).await? {
            Start::Ready => return Ok(((process, spec), ports)),
            Start::LostItsPort => {}
        }
    }
    bail!("etcd lost its port to other processes {PORT_ATTEMPTS} times")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_known_as_its_service_account_and_nobody_else_reads_its_token() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let access = Access::new(folder.path(), ["kraken-hub".to_owned()].into_iter()).unwrap();
        let path = access.kubeconfig("https://127.0.0.1:1", "kraken-hub").unwrap();
        let tokens = folder.path().join("tokens.csv");
        let text = std::fs::read_to_string(&tokens).unwrap();
        let token = &access.controllers["kraken-hub"];
        assert!(text.contains(&format!("{token},system:serviceaccount:kraken-system:kraken-hub,")), "{text}");
        assert!(std::fs::read_to_string(&path).unwrap().contains(token));
        for file in [path, tokens] {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(access.kubeconfig("https://127.0.0.1:1", "kraken-aws-vpc").is_err());
    }
}
