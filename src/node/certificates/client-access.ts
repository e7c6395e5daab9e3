/** Opens the node's access to its API server: from its kubeconfig, or from a bootstrap that creates one. */
import { type Clock, errorText } from '../../async/index.js';
import type { HostFiles } from '../../host/index.js';
import {
  type ClusterAccess,
  type Credentials,
  credentialsOf,
  type KubeApi,
  loadKubeconfig,
} from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import {
  type BootstrapOptions,
  bootstrapClientCertificate,
  clientAccessProblem,
  readPem,
  writeKubeconfig,
} from './bootstrap.js';
import { managedCredentials } from './client.js';
import { CertificateManager, type CertificateManagerOptions } from './manager.js';
import { nodeSubject } from './request.js';
import { CertificateStore, recordSetAside } from './store.js';

export interface ClientAccessOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly nodeName: string;
  readonly certDir: string;
  readonly kubeconfigPath: string;
  /** Empty for none. */
  readonly bootstrapKubeconfigPath: string;
  readonly rotateCertificates: boolean;
  /** A client for certificate requests; uses the credentials of the access itself unless others are given. */
  readonly openApi: (access: ClusterAccess, credentials?: Credentials) => KubeApi;
  readonly readKubeconfig?: (path: string) => Promise<ClusterAccess>;
  readonly metrics?: CertificateManagerOptions['metrics'];
}

export interface ClientAccess {
  readonly access: ClusterAccess;
  /** Set if the agent manages the certificate: clients must use these instead of the kubeconfig's. */
  readonly credentials: Credentials | undefined;
  /** Set likewise; must be run, and watched with `watchClientCertificate`. */
  readonly manager: CertificateManager | undefined;
}

/** Without rotation, waits up to an hour for a first certificate; with rotation, does not wait. */
export async function openClientAccess(
  options: ClientAccessOptions,
  signal: AbortSignal,
): Promise<ClientAccess> {
  return options.rotateCertificates ? await openRotated(options) : await openFixed(options, signal);
}

async function openFixed(options: ClientAccessOptions, signal: AbortSignal): Promise<ClientAccess> {
  const { kubeconfigPath, bootstrapKubeconfigPath, readKubeconfig = loadKubeconfig } = options;
  if (bootstrapKubeconfigPath !== '' && (await usableAccess(options)) === undefined) {
    const bootstrap = await readKubeconfig(bootstrapKubeconfigPath).catch((error: unknown) => {
      throw new Error(`unable to load bootstrap kubeconfig: ${errorText(error)}`, { cause: error });
    });
    await bootstrapClientCertificate(bootstrapOptions(options, bootstrap), signal);
  }
  const access = await readKubeconfig(kubeconfigPath).catch((error: unknown) => {
    throw new Error(`invalid kubeconfig: ${errorText(error)}`, { cause: error });
  });
  await tellUseless(options, access);
  return { access, credentials: undefined, manager: undefined };
}

/**
 * Someone may still replace an unusable certificate's files, so this only reports it; no one else would
 * explain the refusals.
 */
async function tellUseless(
  { files, clock, timeline, kubeconfigPath }: ClientAccessOptions,
  access: ClusterAccess,
): Promise<void> {
  if (access.user.clientCertificate === undefined) return;
  const problem = await clientAccessProblem(access, files, clock.now());
  if (problem === undefined) return;
  const message = `the API server will refuse the credentials in ${kubeconfigPath}: ${problem}; replace it`;
  timeline.record({ kind: 'problem', what: 'certificate.client', message });
}

async function openRotated(options: ClientAccessOptions): Promise<ClientAccess> {
  const { kubeconfigPath, bootstrapKubeconfigPath, readKubeconfig = loadKubeconfig } = options;
  const load = async (file: string): Promise<ClusterAccess> => {
    try {
      return await readKubeconfig(file);
    } catch (error) {
      throw new Error(`unable to load kubeconfig: ${errorText(error)}`, { cause: error });
    }
  };
  if (bootstrapKubeconfigPath === '') {
    const access = await load(kubeconfigPath);
    return await managed(options, access, access);
  }
  const usable = await usableAccess(options);
  if (usable !== undefined) return await managed(options, usable, usable);
  const bootstrap = await load(bootstrapKubeconfigPath);
  await writeKubeconfig(bootstrapOptions(options, bootstrap));
  return await managed(options, await load(kubeconfigPath), bootstrap);
}

/** Requests use the kubeconfig's credentials, or the bootstrap's until there is a certificate. */
async function managed(
  options: ClientAccessOptions,
  access: ClusterAccess,
  asker: ClusterAccess,
): Promise<ClientAccess> {
  const { clock, timeline, random, files, nodeName, openApi, metrics } = options;
  const given = access.user.clientCertificate;
  const inline = given?.certificate.kind === 'data' && given.key.kind === 'data' ? given : undefined;
  const template = { subject: nodeSubject(nodeName) };
  const manager: CertificateManager = new CertificateManager({
    clock,
    timeline,
    random,
    purpose: 'client',
    store: clientStore(options, access),
    template: () => template,
    api: (current) => (current === undefined ? openApi(asker) : openApi(access, credentials)),
    ...(inline === undefined
      ? {}
      : {
          bootstrap: {
            certificatePem: await readPem(files, inline.certificate),
            keyPem: await readPem(files, inline.key),
          },
        }),
    ...(metrics === undefined ? {} : { metrics }),
  });
  const bearerOnly = { ...access, user: { ...access.user, clientCertificate: undefined } };
  const credentials = managedCredentials(manager, credentialsOf({ clock, access: bearerOnly }));
  await manager.load();
  return { access, credentials, manager };
}

async function usableAccess(options: ClientAccessOptions): Promise<ClusterAccess | undefined> {
  const { kubeconfigPath, readKubeconfig = loadKubeconfig, files, clock, timeline } = options;
  let problem: string | undefined;
  try {
    const access = await readKubeconfig(kubeconfigPath);
    problem = await clientAccessProblem(access, files, clock.now());
    if (problem === undefined) return access;
  } catch (error) {
    problem = errorText(error);
  }
  timeline.record({
    kind: 'decision',
    what: 'certificate.bootstrap',
    message: 'using the bootstrap kubeconfig',
    because: `${kubeconfigPath} cannot be used: ${problem}`,
  });
  return undefined;
}

function bootstrapOptions(options: ClientAccessOptions, access: ClusterAccess): BootstrapOptions {
  return { ...options, access, store: clientStore(options, undefined), api: options.openApi(access) };
}

function clientStore(
  { files, clock, timeline, certDir }: ClientAccessOptions,
  access: ClusterAccess | undefined,
): CertificateStore {
  const given = access?.user.clientCertificate;
  const fallback =
    given?.certificate.kind === 'file' && given.key.kind === 'file'
      ? { certificateFile: given.certificate.path, keyFile: given.key.path }
      : undefined;
  return new CertificateStore({
    files,
    clock,
    directory: certDir,
    name: 'kubelet-client',
    onSetAside: (file) => recordSetAside(timeline, file),
    ...(fallback === undefined ? {} : { fallback }),
  });
}
