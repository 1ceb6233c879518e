{{/* The controller's name: its Deployment, service account, lease and roles. Not the release's: two installations in one
cluster would manage the same objects, so the second is refused because the first owns the roles. */}}
{{- define "kraken.name" -}}
kraken-hub
{{- end }}

{{/* Labels that select the controller's pods. */}}
{{- define "kraken.selector" -}}
app.kubernetes.io/name: {{ include "kraken.name" . }}
{{- end }}

{{/* Labels of every object of this chart. */}}
{{- define "kraken.labels" -}}
{{ include "kraken.selector" . }}
app.kubernetes.io/part-of: kraken
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Whether cert-manager issues the certificate of the webhooks: "true" or nothing. */}}
{{- define "kraken.certManager" -}}
{{- if and .Values.webhooks.enabled .Values.webhooks.certManager }}true{{- end }}
{{- end }}

{{/* Objects of a generated file, in the release's namespace and with the chart's labels. */}}
{{- define "kraken.objects" -}}
{{- $root := .root }}
{{- range $document := splitList "\n---\n" .text }}
{{- $object := $document | fromYaml }}
{{- if $object.kind }}
{{- $metadata := dict "labels" (include "kraken.labels" $root | fromYaml) }}
{{- if $object.metadata.namespace }}
{{- $_ := set $metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- if and (eq $object.kind "ServiceAccount") $root.Values.serviceAccount.annotations }}
{{- $_ := set $metadata "annotations" $root.Values.serviceAccount.annotations }}
{{- end }}
{{- if and (eq $object.kind "ValidatingWebhookConfiguration") (include "kraken.certManager" $root) }}
{{- $certificate := printf "%s/%s-webhook" $root.Release.Namespace (include "kraken.name" $root) }}
{{- $_ := set $metadata "annotations" (dict "cert-manager.io/inject-ca-from" $certificate) }}
{{- end }}
{{- range $subject := $object.subjects }}
{{- $_ := set $subject "namespace" $root.Release.Namespace }}
{{- end }}
{{- range $webhook := $object.webhooks }}
{{- $_ := set $webhook.clientConfig.service "namespace" $root.Release.Namespace }}
{{- end }}
---
{{ mergeOverwrite $object (dict "metadata" $metadata) | toYaml }}
{{ end }}
{{- end }}
{{- end }}
