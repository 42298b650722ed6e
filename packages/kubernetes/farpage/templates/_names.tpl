{{- define "farpage.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "farpage.selector" -}}
app.kubernetes.io/name: farpage
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "farpage.labels" -}}
{{ include "farpage.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "farpage.scheme" -}}
{{ if .Values.tls.enabled }}https{{ else }}http{{ end }}
{{- end }}

{{- /* Where clients find the coordinators: each of several by its own name, since the one that leads answers. */ -}}
{{- define "farpage.coordinators" -}}
{{- $name := printf "%s-coordinator" .Release.Name -}}
{{- $scheme := include "farpage.scheme" . -}}
{{- $root := . -}}
{{- $urls := list -}}
{{- range $i := until (int .Values.coordinator.replicas) -}}
{{- $urls = append $urls (printf "%s://%s-%d.%s-peers.%s.svc:7400" $scheme $name $i $name $root.Release.Namespace) -}}
{{- end -}}
{{- if eq (int .Values.coordinator.replicas) 1 -}}
{{ $scheme }}://{{ $name }}.{{ .Release.Namespace }}.svc:7400
{{- else -}}
{{ join "," $urls }}
{{- end -}}
{{- end }}

{{- define "farpage.poolMiB" -}}
{{ add .Values.agent.pool.exportedMiB .Values.agent.pool.stagingMiB 2 }}
{{- end }}

{{- /* What the agent's container has of memory, of hugepages and of a device plugin's devices. Without hugepages the pool counts as memory. */ -}}
{{- define "farpage.agentMemory" -}}
{{- $pool := include "farpage.poolMiB" . -}}
{{- if .Values.agent.pool.hugepages -}}
memory: {{ .Values.agent.memoryMiB }}Mi
hugepages-2Mi: {{ $pool }}Mi
{{- else -}}
memory: {{ add .Values.agent.memoryMiB (int $pool) }}Mi
{{- end }}
{{- if and .Values.agent.rdma.enabled .Values.agent.rdma.resource }}
{{ .Values.agent.rdma.resource }}: 1
{{- end }}
{{- end }}
