//go:build tools

// Package openstack pins the provider of OpenStack.
package openstack

import _ "github.com/terraform-provider-openstack/terraform-provider-openstack/v3"
