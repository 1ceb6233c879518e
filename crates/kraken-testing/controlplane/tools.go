//go:build tools

// Package controlplane pins what Kraken's tests and demo run as their Kubernetes.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these commands.
package controlplane

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
