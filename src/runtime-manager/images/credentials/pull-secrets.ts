/** The registry credentials in a pod's image pull secrets. */
import { createHash } from 'node:crypto';
import { errorText } from '../../../async/index.js';
import type { ObjectStore, Pod, Secret } from '../../../kube/index.js';
import { podRef, type Timeline } from '../../../timeline/index.js';
import type { PullSecretSource } from '../../contracts.js';
import {
  type DockerConfig,
  parseDockerConfigJson,
  parseDockercfg,
  type RegistryAuth,
} from './docker-config.js';
import { entryKey } from './registry-match.js';

export interface PullSecretsOptions {
  /** Absent on a node without API objects: then no secret can be read. */
  readonly objects?: Pick<ObjectStore, 'secret'> | undefined;
  readonly timeline: Timeline;
}

export interface SecretAuth extends RegistryAuth {
  readonly source: PullSecretSource;
}

export interface PullSecrets {
  /** By the key of their registry. */
  readonly entries: ReadonlyMap<string, readonly SecretAuth[]>;
  /** The names of those that could not be read. */
  readonly unread: readonly string[];
}

/** Unreadable secrets are skipped; a malformed one fails the call. */
export async function readPullSecrets(
  { objects, timeline }: PullSecretsOptions,
  pod: Pod,
): Promise<PullSecrets> {
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) =>
    name === undefined || name === '' ? [] : [name],
  );
  const namespace = pod.metadata.namespace;
  const unread: string[] = [];
  const entries = new Map<string, SecretAuth[]>();
  for (const name of names) {
    let secret: Secret;
    try {
      if (objects === undefined)
        throw new Error(`couldn't get secret ${namespace}/${name}, no kubeClient defined`);
      secret = await objects.secret(namespace, name);
    } catch (error) {
      unread.push(name);
      timeline.record({
        kind: 'problem',
        what: 'credentials.secret',
        message: `the image pull secret ${namespace}/${name} could not be read`,
        pod: podRef(pod),
        level: 'debug',
        error,
      });
      continue;
    }
    addEntries(entries, secret, namespace, name);
  }
  return { entries, unread };
}

function addEntries(
  entries: Map<string, SecretAuth[]>,
  secret: Secret,
  namespace: string,
  name: string,
): void {
  let config: DockerConfig | undefined;
  try {
    config = secretConfig(secret);
  } catch (cause) {
    throw new Error(`image pull secret ${namespace}/${name}: ${errorText(cause)}`, { cause });
  }
  for (const [registry, auth] of config ?? []) {
    const key = entryKey(registry);
    const source: PullSecretSource = {
      uid: secret.metadata.uid ?? '',
      namespace,
      name,
      credentialHash: credentialHash(auth),
    };
    entries.set(key, [...(entries.get(key) ?? []), { ...auth, source }]);
  }
}

/** Undefined for other types of secrets. */
function secretConfig({ type, data = {} }: Secret): DockerConfig | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  if (type === 'kubernetes.io/dockerconfigjson' && data['.dockerconfigjson']) {
    return parseDockerConfigJson(text('.dockerconfigjson'));
  }
  if (type === 'kubernetes.io/dockercfg' && data['.dockercfg']) return parseDockercfg(text('.dockercfg'));
  return undefined;
}

/** Identifies credentials without revealing them. */
export function credentialHash({ username, password, email = '' }: RegistryAuth): string {
  const known = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  const json = JSON.stringify(Object.fromEntries(known)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return createHash('sha256').update(json).digest('hex');
}
