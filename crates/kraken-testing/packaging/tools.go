//go:build tools

// Package packaging pins the programs that render what Kraken is installed from.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these commands.
package packaging

import (
	_ "helm.sh/helm/v3/cmd/helm"
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
