// Command etcd is etcd's own server, built from its module: etcd publishes no installable main package there.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
