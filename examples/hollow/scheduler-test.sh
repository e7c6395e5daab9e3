#!/bin/sh
# Does the scheduler spread pods over zones, and leave alone the nodes whose taint the pods do not tolerate?
# Needs kubectl, nodelet and the kubeconfig of a cluster for tests. Exits with 1 if the answer is no.
set -eu
cd "$(dirname "$0")"

dir=$(mktemp -d)
nodelet hollow --profiles fleet.yaml --no-kubelet-api --delete-nodes --quiet --socket "$dir/hollow.sock" &
fleet=$!
finish() {
  kubectl delete --filename spread.yaml --ignore-not-found --wait=false
  kill -INT "$fleet" && wait "$fleet" || true
  rm -r "$dir"
}
trap finish EXIT

ready() { kubectl get nodes --selector nodelet.dev/hollow=true --no-headers 2>/dev/null | grep -c ' Ready ' || true; }
until [ "$(ready)" = 14 ]; do
  kill -0 "$fleet" || exit 1
  sleep 1
done
echo 'the nodes are ready'

kubectl apply --filename spread.yaml
kubectl rollout status deployment/spread --timeout 180s

nodes=$(kubectl get pods --selector app=spread --output jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}')
failed=0
for zone in a b c; do
  count=$(echo "$nodes" | grep -c "^zone-$zone-" || true)
  echo "zone $zone has $count pods"
  [ "$count" = 10 ] || failed=1
done
if echo "$nodes" | grep -q '^gpu-'; then
  echo 'pods are on nodes whose taint they do not tolerate'
  failed=1
fi
exit "$failed"
