//go:build tools

// Package node pins what Kraken's tests and demo run as a node of their cluster, and the kubectl of their version.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these commands.
package node

import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
