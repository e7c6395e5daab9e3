/** The kubeconfig of a bare node's owner, and its place beside other clusters in a user's own file. */

import { stringify } from 'yaml';
import { parseSource } from '../kube/manifests/document.js';
import type { NodeAuthority } from './authority.js';

export const contextName = 'nodelet';

interface NamedEntry {
  readonly name: string;
  readonly [member: string]: unknown;
}

interface KubeconfigFile {
  readonly [member: string]: unknown;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export function ownerKubeconfig(
  server: string,
  { caPem, owner }: Pick<NodeAuthority, 'caPem' | 'owner'>,
): KubeconfigFile {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: contextName, cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [
      {
        name: contextName,
        user: {
          'client-certificate-data': base64(owner.certificatePem),
          'client-key-data': base64(owner.keyPem),
        },
      },
    ],
    contexts: [{ name: contextName, context: { cluster: contextName, user: contextName } }],
    'current-context': contextName,
  };
}

export function kubeconfigText(config: KubeconfigFile): string {
  return stringify(config);
}

/**
 * A user's file with our cluster, user and context added or renewed. Everything else stays, the current context too.
 * Throws when an entry of our name is somebody else's, or the file cannot be read.
 */
export function mergedKubeconfig(existing: string, ours: KubeconfigFile): string {
  const [document] = existing.trim() === '' ? [] : parseSource(existing, 'the kubeconfig');
  const value = document?.value ?? {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it is not a kubeconfig');
  const theirs: KubeconfigFile = { ...value };
  refuseForeign(theirs, ours);
  const current = theirs['current-context'];
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    ...theirs,
    ...Object.fromEntries(
      ['clusters', 'users', 'contexts'].map((list) => [
        list,
        [...entries(theirs, list).filter(({ name }) => name !== contextName), ...entries(ours, list)],
      ]),
    ),
    'current-context': typeof current === 'string' && current !== '' ? current : contextName,
  });
}

/** A cluster of our name on another machine must not be lost. */
function refuseForeign(theirs: KubeconfigFile, ours: KubeconfigFile): void {
  const serverIn = (file: KubeconfigFile): unknown => {
    const cluster = entries(file, 'clusters').find(({ name }) => name === contextName)?.cluster;
    return typeof cluster === 'object' && cluster !== null && 'server' in cluster
      ? cluster.server
      : undefined;
  };
  const server = serverIn(theirs);
  if (server === undefined || isLoopback(String(server))) return;
  throw new Error(
    `its cluster "${contextName}" is another one (${String(server)}, not ${String(serverIn(ours))}); rename that one first`,
  );
}

function isLoopback(server: string): boolean {
  return /^https:\/\/(127\.|localhost|\[::1\])/.test(server);
}

function entries(file: KubeconfigFile, list: string): readonly NamedEntry[] {
  const value = file[list];
  if (!Array.isArray(value)) return [];
  return value.filter(
    (entry): entry is NamedEntry => typeof entry === 'object' && entry !== null && 'name' in entry,
  );
}
