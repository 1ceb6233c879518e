//go:build tools

// Package schemas pins the modules whose CustomResourceDefinitions Kraken's tests validate manifests with.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these modules.
package schemas

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
)
