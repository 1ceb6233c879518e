#!/bin/sh
# The first process of the node's namespaces: when it ends, the kernel ends every pod, and the mounts go with the last of them.
# Environment: FOLDER, NAME, HOST, NODE, NODE_NAME, KUBELET, PROXY.
set -eu

# A view of the system's files that knows this network, with the control groups of the machine.
mkdir -p "$FOLDER/cgroup"
mount --rbind /sys/fs/cgroup "$FOLDER/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$FOLDER/cgroup" /sys/fs/cgroup
umount -l "$FOLDER/cgroup"
mount --make-rshared / # within these namespaces only; kubelet takes it for mounts that reach pods
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
for path in /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers; do
  mkdir -p "$path" "$FOLDER/files$path"
  mount --bind "$FOLDER/files$path" "$path"
done

# kubelet's root of control groups has to exist: in every hierarchy of version 1, or in the one of version 2.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/$NAME"
  for controller in cpuset cpu io memory hugetlb pids; do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  done
else
  for group in /sys/fs/cgroup/*/; do
    case $group in *unified/) ;; *) mkdir -p "$group$NAME" ;; esac
  done
  for file in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$NAME/$file"
  done
fi

until [ -e /sys/class/net/eth0 ]; do sleep 0.05; done
ip link set lo up
ip address add "$NODE/30" dev eth0
ip link set eth0 up
ip route add default via "$HOST"
echo 1 >/proc/sys/net/ipv4/ip_forward

containerd --config "$FOLDER/containerd.toml" >"$FOLDER/containerd.log" 2>&1 &
containerd=$!
until ctr version >/dev/null 2>&1; do
  kill -0 "$containerd"
  sleep 0.1
done
for image in "$FOLDER"/images/*.tar; do
  ctr --namespace k8s.io images import "$image"
done
"$KUBELET" --config "$FOLDER/kubelet.yaml" --kubeconfig "$FOLDER/kubelet.kubeconfig" --hostname-override "$NODE_NAME" \
  --node-ip "$NODE" >"$FOLDER/kubelet.log" 2>&1 &
kubelet=$!
"$PROXY" --config "$FOLDER/proxy.yaml" >"$FOLDER/kube-proxy.log" 2>&1 &
proxy=$!
while kill -0 "$containerd" && kill -0 "$kubelet" && kill -0 "$proxy"; do sleep 1; done
echo "containerd ($containerd), kubelet ($kubelet) or kube-proxy ($proxy) has ended; see its log"
exit 1
