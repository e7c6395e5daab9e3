/** What a cluster needs so that nodes can join it with a token, and how its admin answers their requests. */
import { type CertificateSigningRequest, resources } from '../../src/kube-client/index.js';
import type { ControlPlane } from '../env/index.js';
import { eventually } from './cluster.js';

export type Request = CertificateSigningRequest;

const secretPart = 'abcdef0123456789';
/** Requests of its tokens are approved by the cluster; others wait for a person. */
const approvedGroup = 'system:bootstrappers:approved';

export interface JoiningToken {
  /** Six characters. */
  readonly id: string;
  readonly isApproved: boolean;
}

/** Rights to ask for certificates, and tokens to ask with. */
export function bootstrapObjects(tokens: readonly JoiningToken[]): object[] {
  return [
    binding('system:node-bootstrapper', 'system:bootstrappers'),
    binding('system:certificates.k8s.io:certificatesigningrequests:nodeclient', approvedGroup),
    binding('system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', 'system:nodes'),
    ...tokens.map(({ id, isApproved }) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: {
        'token-id': id,
        'token-secret': secretPart,
        'usage-bootstrap-authentication': 'true',
        ...(isApproved ? { 'auth-extra-groups': approvedGroup } : {}),
      },
    })),
  ];
}

function binding(role: string, group: string): object {
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `test:${role}` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup, kind: 'Group', name: group }],
  };
}

/** A kubeconfig that has nothing but a token. */
export function tokenKubeconfig(plane: ControlPlane, id: string): string {
  return plane.pki.kubeconfig(`bootstrap-${id}`, plane.url, { token: `${id}.${secretPart}` });
}

export function tokenUser(id: string): string {
  return `system:bootstrap:${id}`;
}

export async function requestsOf(plane: ControlPlane, username: string): Promise<Request[]> {
  const { items } = await plane.admin.list(resources.certificateSigningRequests);
  return (items ?? []).filter(({ spec }) => spec.username === username);
}

/** Waits until a user has asked for a certificate. */
export async function requestOf(
  plane: ControlPlane,
  username: string,
  wanted: (request: Request) => boolean = () => true,
): Promise<Request> {
  let found: Request | undefined;
  await eventually(`a request of ${username}`, async () => {
    found = (await requestsOf(plane, username)).find(wanted);
    return found !== undefined;
  });
  if (found === undefined) throw new Error('unreachable: it was found');
  return found;
}

export async function answer(
  plane: ControlPlane,
  verdict: 'approve' | 'deny',
  { metadata }: Request,
): Promise<void> {
  await plane.kubectl(['certificate', verdict, metadata.name ?? '']);
}
