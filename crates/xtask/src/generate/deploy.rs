//! The Deployment of a controller: the same for each but for its name.

use super::MARK;

/// Set the image with `kustomize edit set image kraken-hub=...`. The optional ConfigMap and Secret with its name set
/// its environment variables, and thereby its flags.
const TEMPLATE: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: kraken
  name: {name}
  namespace: kraken-system
spec:
  replicas: 1 # more stand by: one of them leads
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      annotations:
        prometheus.io/port: "8080"
        prometheus.io/scrape: "true"
      labels:
        app.kubernetes.io/name: {name}
        app.kubernetes.io/part-of: kraken
    spec:
{host}      containers:
      - name: controller
        image: {name}:{version}
        imagePullPolicy: IfNotPresent
        args:
        - run
        env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: KRAKEN_MANIFEST_VERSION
          value: {version}
        - name: KRAKEN_WEBHOOK_LISTEN
          value: 0.0.0.0:9443
{variables}        envFrom:
        - configMapRef:
            name: {name}
            optional: true
        - secretRef:
            name: {name}
            optional: true
{credentials}        ports:
        - name: http
          containerPort: 8080
        - name: webhook
          containerPort: 9443
        livenessProbe:
          httpGet:
            path: /healthz
            port: http
          initialDelaySeconds: 10
          periodSeconds: 10
        readinessProbe:
          httpGet:
            path: /readyz
            port: http
          periodSeconds: 5
        resources:
          requests:
            cpu: {cpu}
            memory: {request}
          limits:
            memory: {limit}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
{mounts}      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: {name}
      terminationGracePeriodSeconds: {grace}
{volumes}"#;

/// At least one replica stays while nodes are drained.
const BUDGET: &str = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: kraken
  name: {name}
  namespace: kraken-system
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
";

/// Two replicas of each controller on different nodes: one leads, the other takes over within the lease's duration.
pub(super) const HIGH_AVAILABILITY: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
- poddisruptionbudgets.yaml
patches:
- target:
    kind: Deployment
    labelSelector: app.kubernetes.io/part-of=kraken
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: any
    spec:
      replicas: 2
      template:
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: kubernetes.io/hostname
            whenUnsatisfiable: ScheduleAnyway
            labelSelector:
              matchLabels:
                app.kubernetes.io/part-of: kraken
            matchLabelKeys:
            - app.kubernetes.io/name
";

/// The folder that installs everything with one component.
pub(super) fn overlay(component: &str) -> String {
    format!(
        "{MARK}\n# To combine components, list several of them in a kustomization.yaml like this.\n\
         apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- ../../default\n\
         components:\n- ../../components/{component}\n"
    )
}

/// The PodDisruptionBudgets of these controllers.
pub(super) fn budgets(controllers: &[String]) -> String {
    let budgets: Vec<String> = controllers
        .iter()
        .map(|controller| BUDGET.replace("{name}", &format!("kraken-{controller}")))
        .collect();
    format!("{MARK}\n{}", budgets.join("---\n"))
}

/// The shared credentials of all spokes of one provider: `config/aws-credentials` generates them for AWS.
const CREDENTIALS: &str = "        - secretRef:
            name: kraken-{provider}-credentials
            optional: true
";

/// The controller of providers reaches the process that runs them by a socket, and only the controller has a token.
const HOST_VARIABLE: &str = "        - name: KRAKEN_TOFU_HOST_SOCKET
          value: /var/run/kraken-host/own/socket
";
const HOST_MOUNTS: &str = "        volumeMounts:
        - name: host
          mountPath: /var/run/kraken-host
        - name: token
          mountPath: /var/run/secrets/kubernetes.io/serviceaccount
          readOnly: true
";
/// It starts before the controller, and ends after it. The programs of providers are in a folder, into which an init container or another
/// volume puts them.
const HOST: &str = "      automountServiceAccountToken: false # the controller mounts it, the host does not
      initContainers:
      - name: host
        image: {name}:{version}
        imagePullPolicy: IfNotPresent
        restartPolicy: Always # a sidecar: it outlives the controller's container
        args:
        - host
        - --socket
        - /var/run/kraken-host/own/socket
        resources:
          requests:
            cpu: 10m
            memory: 64Mi
          limits:
            memory: 2Gi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - name: host
          mountPath: /var/run/kraken-host
        - name: providers
          mountPath: /providers
          readOnly: true
        - name: tmp
          mountPath: /tmp
";
const HOST_VOLUMES: &str = "      volumes:
      - name: host
        emptyDir:
          medium: Memory
          sizeLimit: 1Mi
      - name: providers
        emptyDir: {}
      - name: tmp
        emptyDir:
          medium: Memory
          sizeLimit: 16Mi
      - name: token
        projected:
          sources:
          - serviceAccountToken:
              path: token
          - configMap:
              name: kube-root-ca.crt
              items:
              - key: ca.crt
                path: ca.crt
          - downwardAPI:
              items:
              - path: namespace
                fieldRef:
                  fieldPath: metadata.namespace
";

/// The controller of providers, whose programs run beside it.
const OF_PROVIDERS: &str = "tofu";

/// The Deployment of the controller in this folder. A spoke's folder begins with its provider: `aws-vpc`.
pub(super) fn deployment(controller: &str) -> String {
    // Little processor time, so that two replicas of all controllers fit on a node with two cores.
    with_resources(controller, "10m", "64Mi", "512Mi")
}

/// The Deployment of a process that several controllers share.
pub(super) fn of_process(process: &str) -> String {
    with_resources(process, "50m", "128Mi", "2Gi")
}

fn with_resources(controller: &str, cpu: &str, request: &str, limit: &str) -> String {
    let name = format!("kraken-{controller}");
    let credentials =
        controller.split_once('-').map(|(provider, _)| CREDENTIALS.replace("{provider}", provider));
    let grace = if controller == OF_PROVIDERS {
        "1800 # an operation of a provider is never interrupted"
    } else {
        "15 # it ends within 10"
    };
    let of_host = |text: &'static str| if controller == OF_PROVIDERS { text } else { "" };
    let parts = [
        ("{cpu}", cpu),
        ("{request}", request),
        ("{limit}", limit),
        ("{grace}", grace),
        ("{host}", of_host(HOST)),
        ("{variables}", of_host(HOST_VARIABLE)),
        ("{mounts}", of_host(HOST_MOUNTS)),
        ("{volumes}", of_host(HOST_VOLUMES)),
    ];
    let text = TEMPLATE.replace("{credentials}", &credentials.unwrap_or_default());
    let text = parts.iter().fold(text, |text, (part, value)| text.replace(part, value));
    format!("{MARK}\n{}", text.replace("{name}", &name).replace("{version}", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spokes_of_a_provider_share_its_credentials_and_the_hub_has_none() {
        assert!(deployment("aws-vpc").contains("name: kraken-aws-credentials"));
        assert!(!deployment("hub").contains("credentials"));
    }

    #[test]
    fn host_of_providers_has_neither_a_token_nor_an_environment() {
        let text = deployment(OF_PROVIDERS);
        let host = text.split("- name: host\n").nth(1).and_then(|text| text.split("containers:").next());
        let host = host.unwrap_or_default();
        assert!(
            host.contains("restartPolicy: Always") && host.contains("readOnlyRootFilesystem: true"),
            "{host}"
        );
        assert!(!host.contains("serviceaccount") && !host.contains("env"), "{host}");
        assert!(text.contains("automountServiceAccountToken: false"), "{text}");
        assert!(!deployment("aws-vpc").contains("host"));
    }
}
