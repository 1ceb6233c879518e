//! The moto server as AWS: from PyPI into a virtual environment of its own, one server per [`Moto`].

mod instances;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{Instance, REGION, http, xml};
use serde_json::Value;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::ports::{PORT_ATTEMPTS, free_port_at, lost_its_port};
use crate::process::{Process, Spec};
use crate::scratch::Scratch;
use crate::{cache, progress};

/// 5.2.5: the version whose quirks DESIGN.md section 7 lists; tests rely on them.
const VERSION: &str = "5.2.5";
/// 6.3.0: the newest version of the usual library for CBOR.
const CBOR_VERSION: &str = "6.3.0";
/// The server: moto with the one protocol that it does not know.
const SERVER: &str = include_str!("server.py");
const READY_WITHIN: Duration = Duration::from_mins(1);

/// A running moto server; stopped on drop.
#[derive(Debug)]
pub struct Moto {
    process: Process,
    endpoint: String,
    _scratch: Scratch,
}

impl Moto {
    /// Starts a server with an empty account; installs moto first if it is not installed.
    ///
    /// # Errors
    /// When Python is absent, moto cannot be installed, or the server does not respond within a minute.
    pub async fn start() -> Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST).await
    }

    /// As [`Moto::start`], on an address of this machine that can be reached from outside of it, such as by a node's
    /// pods.
    ///
    /// # Errors
    /// As [`Moto::start`].
    pub async fn start_at(address: Ipv4Addr) -> Result<Self> {
        Self::issuing_after(Duration::ZERO, address).await
    }

    /// As [`Moto::start`], with certificates that are issued this long after they were requested, in seconds.
    ///
    /// # Errors
    /// As [`Moto::start`].
    pub async fn issuing_certificates_after(wait: Duration) -> Result<Self> {
        Self::issuing_after(wait, Ipv4Addr::LOCALHOST).await
    }

    async fn issuing_after(wait: Duration, address: Ipv4Addr) -> Result<Self> {
        let python = install().await?;
        let mut scratch = Scratch::new("moto")?;
        match serve(&python, address, wait, scratch.path()).await {
            Ok((process, endpoint)) => Ok(Self { process, endpoint, _scratch: scratch }),
            Err(error) => {
                scratch.keep();
                Err(error.context(format!("moto did not start; its log is in {}", scratch.path().display())))
            }
        }
    }

    /// The one server that all tests of this process share.
    ///
    /// # Errors
    /// As [`Moto::start`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<Moto> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Where it listens: `http://<address>:<port>`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Its log file.
    pub fn log(&self) -> &Path {
        self.process.log()
    }

    /// All instances of the account, terminated ones too, for as long as moto keeps them.
    ///
    /// # Errors
    /// When moto does not respond, or not with a list.
    pub async fn instances(&self) -> Result<Vec<Instance>> {
        instances::list(&self.endpoint).await
    }

    /// Calls an EC2 action, such as `DescribeVpcs`, out of band, and returns the response with the names of EC2's XML: lists
    /// as arrays, an empty list as an empty string.
    ///
    /// # Errors
    /// When moto does not respond, or rejects the call.
    pub async fn ec2(&self, action: &str, fields: &[(&str, &str)]) -> Result<Value> {
        ec2(&self.endpoint, action, fields).await
    }

    /// Calls AWS Certificate Manager.
    ///
    /// # Errors
    /// When moto does not respond, or rejects the call.
    pub async fn acm(&self, action: &str, body: &Value) -> Result<Value> {
        self.json("acm", "1.1", &format!("CertificateManager.{action}"), body).await
    }

    /// Calls a service with the protocol `json` of this version; `target` is the service's name for the protocol and the action, such as
    /// `AmazonSQS.ListQueues`.
    ///
    /// # Errors
    /// When moto does not respond, or rejects the call.
    pub async fn json(&self, service: &str, version: &str, target: &str, body: &Value) -> Result<Value> {
        let (credential, content) =
            (instances::credential(service), format!("application/x-amz-json-{version}"));
        let headers = [
            ("content-type", content.as_str()),
            ("authorization", credential.as_str()),
            ("x-amz-target", target),
        ];
        let answer = http::post_json(&self.endpoint, &headers, body).await?;
        if answer.status != 200 {
            bail!("{target} failed with {}: {}", answer.status, answer.body);
        }
        Ok(serde_json::from_str(&answer.body).unwrap_or_default())
    }

    /// Resets moto.
    ///
    /// # Errors
    /// When moto does not respond.
    pub async fn reset(&self) -> Result<()> {
        let answer = http::post_form(&format!("{}/moto-api/reset", self.endpoint), &[], &[]).await?;
        if answer.status == 200 { Ok(()) } else { bail!("moto rejected a reset: {}", answer.body) }
    }
}

/// [`Moto::ec2`] of a server that another process started.
///
/// # Errors
/// When it does not respond, or rejects the call.
pub async fn ec2(endpoint: &str, action: &str, fields: &[(&str, &str)]) -> Result<Value> {
    let mut form = vec![("Action", action), ("Version", "2016-11-15")];
    form.extend(fields);
    let credential = instances::credential("ec2");
    let answer = http::post_form(endpoint, &[("authorization", credential.as_str())], &form).await?;
    if answer.status != 200 {
        bail!("{action} failed with {}: {}", answer.status, answer.body);
    }
    Ok(xml::parse(&answer.body)
        .with_context(|| format!("cannot parse moto's response to {action}"))?
        .to_json())
}

/// The environment variables for an AWS SDK to use `endpoint` with dummy credentials.
pub fn environment(endpoint: &str) -> Vec<(String, String)> {
    [
        ("KRAKEN_AWS_ENDPOINT", endpoint),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_EC2_METADATA_DISABLED", "true"), // without it, missing credentials are looked up over the network
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The environment variables for the `aws` command to use `endpoint`: versions 1 and 2 use different names for the
/// region.
pub fn cli_environment(endpoint: &str) -> Vec<(String, String)> {
    let mut variables = environment(endpoint);
    for (name, _) in &mut variables {
        if name == "KRAKEN_AWS_ENDPOINT" {
            "AWS_ENDPOINT_URL".clone_into(name);
        }
    }
    variables.push(("AWS_DEFAULT_REGION".to_owned(), REGION.to_owned()));
    variables
}

async fn serve(python: &Path, address: Ipv4Addr, wait: Duration, folder: &Path) -> Result<(Process, String)> {
    for _ in 0..PORT_ATTEMPTS {
        let port = free_port_at(address)?;
        let endpoint = format!("http://{address}:{port}");
        let server = folder.join("server.py");
        fs::write(&server, SERVER).context("cannot write the server of moto")?;
        let spec = Spec::new("moto", python, folder).arg(server.display().to_string());
        let spec = spec.arg(format!("-H{address}")).arg("-p").arg(port.to_string());
        let spec = spec.envs([("MOTO_ACM_VALIDATION_WAIT".to_owned(), wait.as_secs().to_string())]);
        let mut process = Process::spawn(&spec)?;
        let deadline = Instant::now() + READY_WITHIN;
        while process.is_running() {
            if http::get(&format!("{endpoint}/moto-api/data.json"))
                .await
                .is_ok_and(|answer| answer.status == 200)
            {
                return Ok((process, endpoint));
            }
            if Instant::now() > deadline {
                bail!("moto does not respond; {}", process.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if !lost_its_port(process.log()) {
            bail!("moto ended at once; {}", process.log_tail());
        }
        fs::remove_file(process.log()).context("cannot remove moto's log")?;
    }
    bail!("moto lost its port to other processes {PORT_ATTEMPTS} times")
}

/// Installs moto if it is not installed; returns the Python that has it.
///
/// # Errors
/// When Python or the package is not available.
pub async fn install() -> Result<PathBuf> {
    let folder = cache::root()?.join(format!("moto-{VERSION}-cbor2-{CBOR_VERSION}"));
    let program = folder.join("bin/python");
    // Written last: a virtual environment cannot be built elsewhere and renamed, its scripts name their folder.
    let finished = folder.join(".finished");
    if finished.is_file() {
        return Ok(program);
    }
    let _lock = cache::lock(&folder).await?;
    if finished.is_file() {
        return Ok(program);
    }
    progress::step(&format!("installing moto {VERSION} from PyPI, about 1 minute, once"), async {
        let python = Path::new("python3");
        run(python, &["-m", "venv", "--clear", "."], &folder).await.context(
            "moto requires Python 3.9 or newer with its venv module; install python3 and python3-venv",
        )?;
        let packages = [format!("moto[ec2,elb,server]=={VERSION}"), format!("cbor2=={CBOR_VERSION}")];
        let [moto, cbor] = packages.each_ref().map(String::as_str);
        run(&program, &["-m", "pip", "install", "--quiet", moto, cbor], &folder).await.context(
            "pip could not install moto; it uses your pip configuration (index, proxy, certificates)",
        )?;
        fs::write(&finished, VERSION).with_context(|| format!("cannot write {}", finished.display()))
    })
    .await?;
    Ok(program)
}

async fn run(program: &Path, args: &[&str], folder: &Path) -> Result<()> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("cannot run {}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    bail!("`{} {}` failed:\n{}", program.display(), args.join(" "), String::from_utf8_lossy(&printed))
}
