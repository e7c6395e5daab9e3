/** The objects that every cluster has from its first moment. */
import type { EndpointSlice, KubeObject } from '../kube/index.js';
import type { ServedApi } from '../kube-api/index.js';
import { isAlreadyExists, isNotFound, type Resource, resources } from '../kube-client/index.js';

type FirstObject = readonly [Resource, KubeObject & Readonly<Record<string, unknown>>];

export interface FirstObjectFacts {
  /** The virtual address of the API. */
  readonly apiServiceIp: string;
  readonly dnsServiceIp: string;
}

function firstObjects({ apiServiceIp, dnsServiceIp }: FirstObjectFacts): readonly FirstObject[] {
  const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
  const priority = (name: string, value: number): FirstObject => [
    resources.priorityClasses,
    { metadata: { name }, value, description: 'For pods that the node itself needs.' },
  ];
  return [
    ...namespaces.map((name): FirstObject => [resources.namespaces, { metadata: { name } }]),
    priority('system-node-critical', 2_000_001_000),
    priority('system-cluster-critical', 2_000_000_000),
    [
      resources.services,
      {
        metadata: {
          name: 'kubernetes',
          namespace: 'default',
          labels: { component: 'apiserver', provider: 'kubernetes' },
        },
        spec: {
          type: 'ClusterIP',
          clusterIP: apiServiceIp,
          clusterIPs: [apiServiceIp],
          ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
        },
      },
    ],
    [
      resources.services,
      {
        metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
        spec: {
          type: 'ClusterIP',
          clusterIP: dnsServiceIp,
          clusterIPs: [dnsServiceIp],
          ports: [
            { name: 'dns', protocol: 'UDP', port: 53, targetPort: 53 },
            { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 53 },
          ],
        },
      },
    ],
  ];
}

/** Creates those that are missing; what somebody changed stays. */
export async function createFirstObjects(api: ServedApi, facts: FirstObjectFacts): Promise<void> {
  for (const [resource, object] of firstObjects(facts)) {
    await api.create(resource, object, object.metadata.namespace).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
}

/** Where the API is, for those who ask its Service: pods reach it through the proxy of Services. */
export async function createApiEndpoint(
  api: ServedApi,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<void> {
  const ref = { namespace: 'default', name: 'kubernetes' };
  const wanted: EndpointSlice = {
    metadata: { ...ref, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', protocol: 'TCP', port }],
  };
  await api.delete(resources.endpointSlices, ref).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await api.create(resources.endpointSlices, wanted, ref.namespace);
}
