//! The Deployment of a controller: the same for each but for its name.

use super::MARK;

/// Its image is to be named by who built it: `kustomize edit set image kraken-hub=...`. The optional ConfigMap and Secret
/// set its environment, which is to say its flags and the cloud's credentials.
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
      containers:
      - name: controller
        image: {name}:{version}
        args:
        - run
        env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        envFrom:
        - configMapRef:
            name: {name}
            optional: true
        - secretRef:
            name: {name}
            optional: true
        ports:
        - name: http
          containerPort: 8080
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
            cpu: 50m
            memory: 64Mi
          limits:
            memory: 512Mi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: {name}
      terminationGracePeriodSeconds: 15 # it ends within 10
"#;

/// The Deployment of the controller in this folder.
pub(super) fn deployment(controller: &str) -> String {
    let name = format!("kraken-{controller}");
    format!("{MARK}\n{}", TEMPLATE.replace("{name}", &name).replace("{version}", env!("CARGO_PKG_VERSION")))
}
