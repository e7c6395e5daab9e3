/** Obtains a node's first client certificate with the credentials of a bootstrap kubeconfig. */
import path from 'node:path';
import { type Clock, errorText, isCancelled, jitter, sleep } from '../../async/index.js';
import { type HostFiles, isHostError, isMissing, readWholeFile, replaceFile } from '../../host/index.js';
import { type ClusterAccess, generateKeyPem, type KubeApi, type PemSource } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { kubeconfigText } from './kubeconfig-file.js';
import { chainOf, isPrivateKey } from './pair.js';
import { nodeSubject, signingRequest } from './request.js';
import { createRequest, waitForCertificate } from './signing.js';
import type { CertificateStore } from './store.js';

export interface BootstrapOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly nodeName: string;
  readonly certDir: string;
  readonly store: CertificateStore;
  /** From the bootstrap kubeconfig. */
  readonly access: ClusterAccess;
  /** A client with the bootstrap credentials. */
  readonly api: KubeApi;
  readonly kubeconfigPath: string;
}

const healthLimitMs = 60_000;
const healthPeriodMs = 2_000;
const issueLimitMs = 3_600_000;
const ownerOnly = 0o600;

export async function bootstrapClientCertificate(
  options: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  const { files, api, clock, random, timeline, store, nodeName } = options;
  const temporaryKey = path.join(options.certDir, 'kubelet-client.key.tmp');
  const keyPem = await findKey(options, temporaryKey);
  await waitForServer(options, signal);
  const subject = nodeSubject(nodeName);
  const wanted = signingRequest({ purpose: 'client', template: { subject }, keyPem, named: true });
  const request = await createRequest(api, wanted, { keyPem, subject }, signal);
  timeline.record({
    kind: 'effect',
    what: 'certificate.request',
    message: `requested a client certificate with ${request.metadata.name}`,
    because: 'the kubeconfig has no usable one',
  });
  const certificatePem = await waitForCertificate(
    { api, clock, random, request, timeoutMs: issueLimitMs },
    signal,
  );
  await store.update(certificatePem, keyPem);
  await removeIfThere(files, temporaryKey);
  await writeKubeconfig(options);
}

/** Points the kubeconfig at the store's current pair. */
export async function writeKubeconfig({
  files,
  access,
  store,
  kubeconfigPath,
}: Pick<BootstrapOptions, 'files' | 'access' | 'store' | 'kubeconfigPath'>): Promise<void> {
  const text = kubeconfigText(access.endpoint, store.currentPath);
  // If a link leads to the file, replaces the file, not the link.
  const file = await files.realpath(kubeconfigPath).catch(() => kubeconfigPath);
  await replaceFile(files, file, text, { mode: ownerOnly, directoryMode: 0o755 }).catch((error: unknown) => {
    // A file that is itself a mount point cannot be replaced.
    if (!isHostError(error, 'EBUSY')) throw error;
    return files.writeFile(file, text, { mode: ownerOnly, sync: true });
  });
}

/** The key of an earlier pair or attempt, so that a restart makes the same request. */
async function findKey({ files, store, timeline }: BootstrapOptions, temporaryKey: string): Promise<string> {
  const stored = await store.current().catch((error: unknown) => {
    const message = `the stored client certificate cannot be used: ${errorText(error)}`;
    timeline.record({ kind: 'problem', what: 'certificate.store', message });
    return undefined;
  });
  if (stored !== undefined) return stored.keyPem;
  const earlier = await readText(files, temporaryKey);
  if (earlier !== undefined && isPrivateKey(earlier)) return earlier;
  const keyPem = generateKeyPem();
  await replaceFile(files, temporaryKey, keyPem, { mode: ownerOnly, directoryMode: 0o755 });
  return keyPem;
}

async function waitForServer(options: BootstrapOptions, signal: AbortSignal): Promise<void> {
  const { api, clock, random, timeline } = options;
  const endMs = clock.monotonic() + healthLimitMs;
  for (;;) {
    try {
      await api.getText('/healthz', { signal });
      return;
    } catch (error) {
      if (isCancelled(error)) throw error;
      const waitMs = jitter(healthPeriodMs, random, 0.2);
      if (clock.monotonic() + waitMs > endMs) {
        const message = `the API server is not healthy, continuing: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'certificate.bootstrap', message });
        return;
      }
      await sleep(clock, waitMs, signal);
    }
  }
}

/** Why a kubeconfig does not make the bootstrap unnecessary; undefined if its certificate is valid. */
export async function clientAccessProblem(
  access: ClusterAccess,
  files: HostFiles,
  nowMs: number,
): Promise<string | undefined> {
  const { clientCertificate } = access.user;
  if (clientCertificate === undefined) return 'it has no client certificate';
  try {
    const chain = chainOf(await readPem(files, clientCertificate.certificate));
    if (chain.length === 0) return 'its client certificate is empty';
    if (chain.some(({ validTo }) => Date.parse(validTo) < nowMs)) return 'its client certificate has expired';
    await readPem(files, clientCertificate.key);
    return undefined;
  } catch (error) {
    return `its client certificate cannot be read: ${errorText(error)}`;
  }
}

export async function readPem(files: HostFiles, source: PemSource): Promise<string> {
  if (source.kind === 'data') return source.pem;
  return Buffer.from(await files.readFile(source.path)).toString('utf8');
}

/** Undefined if the file is missing, unreadable or empty: a new key does as well. */
async function readText(files: HostFiles, file: string): Promise<string | undefined> {
  try {
    return await readWholeFile(files, file);
  } catch (error) {
    if (isHostError(error)) throw error;
    return undefined;
  }
}

async function removeIfThere(files: HostFiles, file: string): Promise<void> {
  try {
    await files.unlink(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
