//go:build tools

// Package time pins the provider of times, which needs no service.
package time

import _ "github.com/hashicorp/terraform-provider-time"
