{{/* Labels of every object of this chart. */}}
{{- define "kraken-crds.labels" -}}
app.kubernetes.io/part-of: kraken
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
