/** Decides what a namespace lacks of what every pod counts on: the account `default` and the bundle of root certificates. */
import type { ConfigMap } from '../../kube/index.js';
import type { Namespace, ServiceAccount } from '../../kube-client/index.js';

export const defaultAccount = 'default';
export const rootBundle = 'kube-root-ca.crt';

export type NamespaceObjectStep =
  | { readonly kind: 'create-account' }
  | { readonly kind: 'create-bundle' }
  | { readonly kind: 'restore-bundle' };

export interface NamespaceObjectsInput {
  readonly namespace: Namespace | undefined;
  readonly account: ServiceAccount | undefined;
  readonly bundle: ConfigMap | undefined;
  /** PEM; empty when the API has no certificate of its own. */
  readonly rootCa: string;
}

export function decideNamespaceObjects(input: NamespaceObjectsInput): NamespaceObjectStep[] {
  const { namespace, account, bundle, rootCa } = input;
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return [];
  if (namespace.status?.phase === 'Terminating') return [];
  const steps: NamespaceObjectStep[] = [];
  if (account === undefined) steps.push({ kind: 'create-account' });
  if (rootCa === '') return steps;
  if (bundle === undefined) steps.push({ kind: 'create-bundle' });
  else if (bundle.data?.['ca.crt'] !== rootCa || Object.keys(bundle.data).length !== 1)
    steps.push({ kind: 'restore-bundle' });
  return steps;
}
