/** The command lines of a control plane's servers. */
import { machineAddress } from './addresses.js';
import type { ClusterPki } from './control-plane-pki.js';

export type Controller = 'kube-controller-manager' | 'kube-scheduler';

interface Served {
  readonly pki: ClusterPki;
  readonly port: number;
  /** What the test adds. */
  readonly more?: readonly string[];
}

export function etcdArguments(dataDir: string, clientUrl: string, peerUrl: string): string[] {
  return [
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ];
}

export function apiServerArguments(etcdUrl: string, { pki, port, more = [] }: Served): string[] {
  const file = (name: string): string => pki.path(name);
  return [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${machineAddress()}`,
    `--advertise-address=${machineAddress()}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--cert-dir=${file('generated')}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--kubelet-certificate-authority=${file('ca.crt')}`,
    `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
    `--kubelet-client-key=${file('kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP,Hostname',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--enable-bootstrap-token-auth=true',
    '--allow-privileged=true',
    ...more,
  ];
}

/** Who kube-apiserver is for programs that serve APIs through it. */
export const frontProxy = 'front-proxy-client';

/** What kube-apiserver needs to pass calls on to other programs, and to say whose they are. */
export function aggregationArguments(pki: ClusterPki): string[] {
  return [
    '--enable-aggregator-routing=true',
    `--requestheader-client-ca-file=${pki.path('ca.crt')}`,
    `--requestheader-allowed-names=${frontProxy}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.path(`${frontProxy}.crt`)}`,
    `--proxy-client-key-file=${pki.path(`${frontProxy}.key`)}`,
  ];
}

export function controllerArguments(name: Controller, { pki, port, more = [] }: Served): string[] {
  const kubeconfig = pki.path(`${name}.kubeconfig`);
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${pki.path('generated')}`,
    '--authorization-always-allow-paths=/healthz,/readyz,/livez',
    ...(name === 'kube-controller-manager' ? managerArguments(pki) : []),
    ...more,
  ];
}

function managerArguments(pki: ClusterPki): string[] {
  return [
    '--controllers=*,bootstrapsigner,tokencleaner',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${pki.path('sa.key')}`,
    `--root-ca-file=${pki.path('ca.crt')}`,
    `--cluster-signing-cert-file=${pki.path('ca.crt')}`,
    `--cluster-signing-key-file=${pki.path('ca.key')}`,
    '--kube-api-qps=100',
    '--kube-api-burst=200',
  ];
}
