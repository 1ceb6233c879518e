{{/* The controller's name: its Deployment, service account, lease and roles. Not the release's: two installations in one
cluster would manage the same objects, so the second is refused because the first owns the roles. */}}
{{- define "kraken-spoke.name" -}}
kraken-{{ .Values.component }}
{{- end }}

{{/* The controllers that share the process of the component aws-all, as a list in JSON; of another component, that component. */}}
{{- define "kraken-spoke.controllers" -}}
{{- if ne .Values.component "aws-all" -}}
{{- list .Values.component | toJson -}}
{{- else if .Values.controllers -}}
{{- .Values.controllers | uniq | sortAlpha | toJson -}}
{{- else -}}
{{- $all := list -}}
{{- range $path, $_ := .Files.Glob "files/aws-*.yaml" -}}
{{- $all = append $all (base $path | trimSuffix ".yaml") -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}
{{- end }}

{{/* Labels that select the controller's pods. */}}
{{- define "kraken-spoke.selector" -}}
app.kubernetes.io/name: {{ include "kraken-spoke.name" . }}
{{- end }}

{{/* Labels of every object of this chart. */}}
{{- define "kraken-spoke.labels" -}}
{{ include "kraken-spoke.selector" . }}
app.kubernetes.io/part-of: kraken
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Whether cert-manager issues the certificate of the webhooks: "true" or nothing. */}}
{{- define "kraken-spoke.certManager" -}}
{{- if and .Values.webhooks.enabled .Values.webhooks.certManager }}true{{- end }}
{{- end }}

{{/* Objects of a generated file of a controller, in the release's namespace and with the chart's labels. Roles of a controller in a
shared process are bound to the service account of the process, and its Service selects the pods of the process. */}}
{{- define "kraken-spoke.objects" -}}
{{- $root := .root }}
{{- $own := printf "kraken-%s" .controller }}
{{- $name := include "kraken-spoke.name" $root }}
{{- range $document := splitList "\n---\n" .text }}
{{- $object := $document | fromYaml }}
{{- if and $object.kind (or (ne $object.kind "ServiceAccount") (eq $own $name)) }}
{{- $metadata := dict "labels" (include "kraken-spoke.labels" $root | fromYaml) }}
{{- if $object.metadata.namespace }}
{{- $_ := set $metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- if and (eq $object.kind "ServiceAccount") $root.Values.serviceAccount.annotations }}
{{- $_ := set $metadata "annotations" $root.Values.serviceAccount.annotations }}
{{- end }}
{{- if and (eq $object.kind "ValidatingWebhookConfiguration") (include "kraken-spoke.certManager" $root) }}
{{- $certificate := printf "%s/%s-webhook" $root.Release.Namespace (include "kraken-spoke.name" $root) }}
{{- $_ := set $metadata "annotations" (dict "cert-manager.io/inject-ca-from" $certificate) }}
{{- end }}
{{- range $subject := $object.subjects }}
{{- $_ := set $subject "namespace" $root.Release.Namespace }}
{{- if eq $subject.name $own }}
{{- $_ := set $subject "name" $name }}
{{- end }}
{{- end }}
{{- if eq $object.kind "Service" }}
{{- $_ := set $object.spec "selector" (include "kraken-spoke.selector" $root | fromYaml) }}
{{- end }}
{{- range $webhook := $object.webhooks }}
{{- $_ := set $webhook.clientConfig.service "namespace" $root.Release.Namespace }}
{{- end }}
---
{{ mergeOverwrite $object (dict "metadata" $metadata) | toYaml }}
{{ end }}
{{- end }}
{{- end }}
