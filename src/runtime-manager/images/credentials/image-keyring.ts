/** Finds the credentials to pull an image with: the pod's, then the machine's, then those of plugins. */
import type { Pod } from '../../../kube/index.js';
import type { Keyring, PullCredentials, PullSecretSource, ServiceAccountSource } from '../../contracts.js';
import { normalRepository } from '../reference.js';
import type { RegistryAuth } from './docker-config.js';
import type { NodeCredentials } from './node-credentials.js';
import type { CredentialPlugin } from './plugin.js';
import { type PullSecretsOptions, readPullSecrets } from './pull-secrets.js';
import { entryKey, lookUp } from './registry-match.js';

export interface ImageKeyringOptions extends PullSecretsOptions {
  readonly node?: Pick<NodeCredentials, 'read'>;
  /** Read at every use, since plugins are loaded after the rest. */
  readonly plugins?: () => readonly Pick<CredentialPlugin, 'lookup'>[];
}

export class ImageKeyring implements Keyring {
  readonly #options: ImageKeyringOptions;

  constructor(options: ImageKeyringOptions) {
    this.#options = options;
  }

  async lookup(pod: Pod, image: string, signal?: AbortSignal): Promise<readonly PullCredentials[]> {
    const repository = normalRepository(image);
    const { node } = this.#options;
    const ofPod = await this.#ofSecrets(pod, repository);
    const ofNode = lookUp(byKey((await node?.read()) ?? new Map()), repository).map(bare);
    const ofPlugins = await this.#ofPlugins(pod, repository, signal);
    return [...ofPod, ...ofNode, ...ofPlugins];
  }

  /** The sources of the pod's own credentials that match the image. */
  async podSecrets(pod: Pod, image: string): Promise<readonly PullSecretSource[]> {
    const found = await this.#ofSecrets(pod, normalRepository(image));
    return found.flatMap(({ source }) => (source === undefined ? [] : [source]));
  }

  /** The pod's service account, if a plugin gives credentials for the image to it. */
  async podServiceAccount(
    pod: Pod,
    image: string,
    signal?: AbortSignal,
  ): Promise<ServiceAccountSource | undefined> {
    const found = await this.#ofPlugins(pod, normalRepository(image), signal);
    return found.find(({ serviceAccount }) => serviceAccount !== undefined)?.serviceAccount;
  }

  async unreadSecrets(pod: Pod): Promise<readonly string[]> {
    if ((pod.spec.imagePullSecrets ?? []).length === 0) return [];
    return (await readPullSecrets(this.#options, pod)).unread;
  }

  async #ofPlugins(
    pod: Pod,
    repository: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly PullCredentials[]> {
    const { plugins = () => [] } = this.#options;
    const found = await Promise.all(plugins().map((plugin) => plugin.lookup(pod, repository, signal)));
    return found
      .flat()
      .map(({ serviceAccount, ...auth }) =>
        serviceAccount === undefined ? bare(auth) : { ...bare(auth), serviceAccount },
      );
  }

  async #ofSecrets(pod: Pod, repository: string): Promise<readonly PullCredentials[]> {
    if ((pod.spec.imagePullSecrets ?? []).length === 0) return [];
    const { entries } = await readPullSecrets(this.#options, pod);
    return lookUp(entries, repository).map((auth) => ({ ...bare(auth), source: auth.source }));
  }
}

/** The runtime gets no more than it needs. */
function bare({ username, password }: RegistryAuth): PullCredentials {
  return { username, password };
}

function byKey(config: ReadonlyMap<string, RegistryAuth>): ReadonlyMap<string, readonly RegistryAuth[]> {
  const entries = new Map<string, RegistryAuth[]>();
  for (const [registry, auth] of config) {
    const key = entryKey(registry);
    entries.set(key, [...(entries.get(key) ?? []), auth]);
  }
  return entries;
}
