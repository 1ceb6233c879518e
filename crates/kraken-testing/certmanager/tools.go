//go:build tools

// Package certmanager pins the cert-manager that Kraken's tests run.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name this module.
package certmanager

import (
	_ "github.com/cert-manager/cert-manager/pkg/controller"
)
