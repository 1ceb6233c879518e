//! The admission webhooks of a process: server, certificates and mounted validators. And their manifests as YAML.

use std::path::PathBuf;

use kraken_webhook::{
    CertRotator, CertificateSource, Certificates, Mounts, Served, Timing, manifests, router, serve,
};
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{args::RunArgs, clock, metrics::Metrics, program::Program, rbac::document, task};

/// Starts the server and the rotation of its certificates, one for each of these controllers, if the flags enable them. They run on
/// leaders and standbys; a validator that is mounted later is served from then on.
pub(crate) async fn start(
    args: &RunArgs,
    controllers: &[&'static str],
    namespace: &str,
    client: &Client,
    metrics: &Metrics,
    shutdown: &CancellationToken,
) -> Result<Mounts, serve::ServeError> {
    let mounts = Mounts::default();
    let Some(address) = args.webhook_listen.0 else { return Ok(mounts) };
    let served = controllers.iter().map(|controller| (*controller, Served::default()));
    let served: Vec<(&'static str, Served)> = served.collect();
    let of_services = served.iter().map(|(name, served)| (manifests::service_name(name), served.clone()));
    let server = serve::Server::bind(address, &of_services.collect::<Certificates>()).await?;
    tracing::info!(listening = %server.address, "serving admission webhooks");
    for (component, served) in served {
        let source = if args.webhook_certificate_folder.is_empty() {
            let timing = Timing { lifetime: args.webhook_certificate_lifetime };
            CertificateSource::Secret { namespace: namespace.to_owned(), timing }
        } else {
            let folder = PathBuf::from(&args.webhook_certificate_folder);
            let own = folder.join(component);
            CertificateSource::Folder(if own.is_dir() { own } else { folder })
        };
        let address = address.ip();
        let rotator =
            CertRotator { component, client: client.clone(), source, address, served, now: clock::now };
        task::spawn(rotator.run(shutdown.clone()));
    }
    let metrics = metrics.clone();
    let gave_way = move || metrics.connection_closed("webhooks");
    task::spawn(server.run(router(mounts.clone()), shutdown.clone(), gave_way));
    Ok(mounts)
}

/// The Secret, the Service and the ValidatingWebhookConfiguration of a controller as YAML documents.
///
/// # Errors
/// If serialization fails.
pub(crate) fn yaml<P: Program>() -> Result<String, serde_saphyr::ser::Error> {
    let made = manifests::manifests(P::NAME, &P::webhooks());
    Ok([document(&made.secret)?, document(&made.service)?, document(&made.configuration)?].concat())
}
