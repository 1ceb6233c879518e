//go:build tools

// Package gitops pins the programs that Kraken's GitOps tests run.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these commands.
package gitops

import (
	_ "github.com/fluxcd/kustomize-controller"
)
