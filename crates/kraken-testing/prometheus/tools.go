//go:build tools

// Package prometheus pins the modules of Prometheus that Kraken's tests of queries use.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name these modules.
package prometheus

import (
	_ "github.com/prometheus/prometheus/promql"
)
