//! The component `cert-manager`: certificates of the webhooks, issued by cert-manager.

use super::{MARK, one_process};

/// A certificate of cert-manager for the webhooks of a controller.
const CERTIFICATE: &str = "apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: kraken
  name: {name}-webhook
  namespace: kraken-system
spec:
  dnsNames:
  - {name}-webhook.kraken-system.svc
  issuerRef:
    kind: Issuer
    name: kraken-webhook
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Always
  secretName: {name}-webhook-certificate
  usages:
  - server auth
";

/// The authority of all certificates, so that the `caBundle` stays the same when one of them is renewed: the API server trusts the old
/// and the new one while the pods receive the new files. It keeps its key when it is renewed itself.
const ISSUERS: &str = "apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  labels:
    app.kubernetes.io/part-of: kraken
  name: kraken-webhook-self-signed
  namespace: kraken-system
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  labels:
    app.kubernetes.io/part-of: kraken
  name: kraken-webhook-ca
  namespace: kraken-system
spec:
  commonName: kraken-webhook-ca
  duration: 87600h0m0s # 10 years
  isCA: true
  issuerRef:
    kind: Issuer
    name: kraken-webhook-self-signed
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Never
  secretName: kraken-webhook-ca
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  labels:
    app.kubernetes.io/part-of: kraken
  name: kraken-webhook
  namespace: kraken-system
spec:
  ca:
    secretName: kraken-webhook-ca
";

/// cert-manager keeps the `caBundle`.
const INJECTED: &str = "- target:
    kind: ValidatingWebhookConfiguration
    name: {name}
  patch: |
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata:
      name: {name}
      annotations:
        cert-manager.io/inject-ca-from: kraken-system/{name}-webhook
";

/// The process serves the certificates in this volume.
const MOUNTED: &str = "- target:
    kind: Deployment
    name: {name}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: {name}
    spec:
      template:
        spec:
          containers:
          - name: controller
            env:
            - name: KRAKEN_WEBHOOK_CERTIFICATE_FOLDER
              value: /var/run/kraken-webhook
            volumeMounts:
            - name: webhook-certificate
              mountPath: /var/run/kraken-webhook
              readOnly: true
          volumes:
          - name: webhook-certificate
{volume}";
const SECRET: &str = "            secret:
              secretName: {name}-webhook-certificate
";
/// A shared process has the certificate of each of its controllers in a folder with its name.
const PROJECTED: &str = "            projected:
              sources:
";
const SOURCE: &str = "              - secret:
                  name: {name}-webhook-certificate
                  items:
                  - key: tls.crt
                    path: {name}/tls.crt
                  - key: tls.key
                    path: {name}/tls.key
";

/// The certificates for these controllers, and the folder that uses them, also in the process that some of them can share.
pub(super) fn files(controllers: &[String]) -> (String, String) {
    let named =
        |template: &str, controller: &str| template.replace("{name}", &format!("kraken-{controller}"));
    let each = |controllers: &[String], template: &str| -> Vec<String> {
        controllers.iter().map(|controller| named(template, controller)).collect()
    };
    let certificates = format!("{MARK}\n{ISSUERS}---\n{}", each(controllers, CERTIFICATE).join("---\n"));
    let of_controller = format!("{INJECTED}{}", MOUNTED.replace("{volume}", SECRET));
    let sources = each(&one_process::shared(controllers), SOURCE).concat();
    let of_process = MOUNTED.replace("{volume}", &format!("{PROJECTED}{sources}"));
    let folder = format!(
        "{MARK}\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n- certificates.yaml\npatches:\n{}{}",
        each(controllers, &of_controller).concat(),
        named(&of_process, one_process::PROCESS)
    );
    (certificates, folder)
}
