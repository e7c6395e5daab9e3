/** What a new pod is given because of its service account: the account itself, its token, its pull secrets. */
import { isMirrorPod } from '../../../kube/pods/pod-names.js';
import type { Container, Pod, Volume } from '../../../kube/types/index.js';
import type { ServiceAccount } from '../../../kube-client/api-objects.js';
import { resources } from '../../../kube-client/resources.js';
import { forbidden } from '../../objects/server-errors.js';
import type { ServerFacts } from '../served-kind.js';

export const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const volumePrefix = 'kube-api-access-';
const defaultAccount = 'default';
/** A little over an hour, so that it can be told apart from tokens that somebody asked for. */
const tokenSeconds = 3607;
/** `rw-r--r--` */
const fileMode = 0o644;

/** Whether the account that every namespace gets is there, when a new pod needs it; no other one is awaited. */
export function hasDefaultAccount(pod: Pod, namespace: string, facts: Pick<ServerFacts, 'find'>): boolean {
  const name = pod.spec.serviceAccountName || pod.spec.serviceAccount || defaultAccount;
  if (name !== defaultAccount || isMirrorPod(pod)) return true;
  const place = facts.find(resources.namespaces, { name: namespace });
  if (place === undefined || place.metadata.deletionTimestamp !== undefined) return true;
  return facts.find(resources.serviceAccounts, { namespace, name }) !== undefined;
}

export function admitServiceAccount(pod: Pod, facts: ServerFacts): void {
  if (isMirrorPod(pod)) return;
  const { spec } = pod;
  const { name, namespace } = pod.metadata;
  const accountName = spec.serviceAccountName || defaultAccount;
  spec.serviceAccountName = accountName;
  spec.serviceAccount = accountName;
  const account = facts.find(resources.serviceAccounts, { namespace, name: accountName });
  if (account === undefined) {
    const why = `error looking up service account ${namespace}/${accountName}: serviceaccount ${JSON.stringify(accountName)} not found`;
    throw forbidden(resources.pods, name, why);
  }
  if (mountsToken(pod, account)) mountToken(pod, facts);
  const secrets = account.imagePullSecrets ?? [];
  if ((spec.imagePullSecrets ?? []).length === 0 && secrets.length > 0)
    spec.imagePullSecrets = secrets.map((secret) => ({ ...secret }));
}

/** The pod's word goes before that of its account. */
function mountsToken({ spec }: Pod, account: ServiceAccount): boolean {
  return spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
}

function mountToken({ spec }: Pod, facts: ServerFacts): void {
  const volumes = spec.volumes ?? [];
  const present = volumes.find(({ name }) => name.startsWith(volumePrefix));
  const name = present?.name ?? freeName(volumes, facts);
  const without = [...(spec.initContainers ?? []), ...spec.containers].filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === tokenMountPath),
  );
  for (const container of without) addMount(container, name);
  if (without.length > 0 && present === undefined) spec.volumes = [...volumes, tokenVolume(name)];
}

function freeName(volumes: readonly Volume[], facts: ServerFacts): string {
  for (;;) {
    const name = `${volumePrefix}${facts.randomSuffix()}`;
    if (!volumes.some((volume) => volume.name === name)) return name;
  }
}

function addMount(container: Container, name: string): void {
  container.volumeMounts = [
    ...(container.volumeMounts ?? []),
    { name, readOnly: true, mountPath: tokenMountPath },
  ];
}

/** The token, the authority that signs the API's certificate, and the namespace. */
function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: fileMode,
    },
  };
}
