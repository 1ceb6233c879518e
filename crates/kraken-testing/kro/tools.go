//go:build tools

// Package kro pins the program that Kraken's tests of kro's graphs run.
// The build tag keeps it out of every build; it is here so that go.mod and go.sum name this command.
package kro

import (
	_ "github.com/kubernetes-sigs/kro/cmd/controller"
)
