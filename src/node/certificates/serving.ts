/** The serving certificate of the kubelet API: signed by the cluster, given in files, or self-signed. */
import { isIP } from 'node:net';
import path from 'node:path';
import { type Clock, errorText, sleep } from '../../async/index.js';
import {
  type DurableFileRead,
  type HostFiles,
  isHostError,
  isShortage,
  readWholeFile,
  replaceFile,
  setAside,
  type UnusableFile,
} from '../../host/index.js';
import type { NodeAddress } from '../../kube/index.js';
import { generateKeyPem, makeCertificate } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { CertificateManager, type CertificateManagerOptions } from './manager.js';
import { type CertificatePair, type CertificateTemplate, certificatePair, isPrivateKey } from './pair.js';
import { nodeSubject } from './request.js';
import { CertificateStore, recordSetAside } from './store.js';

export const noServingCertificate = 'no serving certificate available for the kubelet';

/** The server reads it at each handshake. */
export interface ServingCertificate {
  /** If undefined, handshakes fail with `noServingCertificate`. */
  readonly current: CertificatePair | undefined;
  /** Keeps the certificate up to date. */
  run(signal: AbortSignal): Promise<void>;
  /** Receives the node's addresses, if the certificate names them. */
  setAddresses?(addresses: readonly NodeAddress[]): void;
}

/** The template of a serving certificate; undefined until the node has an address, or a name where those do. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
  { namesAlone = false }: { readonly namesAlone?: boolean | undefined } = {},
): CertificateTemplate | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    if (address === '') continue;
    const isIp = isIP(address) !== 0;
    if (type === 'Hostname') (isIp ? ipAddresses : dnsNames).add(address);
    else if (type === 'InternalIP' || type === 'ExternalIP') {
      if (isIp) ipAddresses.add(address);
    } else if (type === 'InternalDNS' || type === 'ExternalDNS') dnsNames.add(address);
  }
  if (ipAddresses.size === 0 && (!namesAlone || dnsNames.size === 0)) return undefined;
  return {
    subject: nodeSubject(nodeName),
    names: { dnsNames: [...dnsNames].sort(), ipAddresses: [...ipAddresses].sort() },
  };
}

export interface SignedServingOptions
  extends Pick<CertificateManagerOptions, 'clock' | 'timeline' | 'random' | 'metrics'> {
  readonly files: HostFiles;
  readonly certDir: string;
  readonly nodeName: string;
  readonly api: CertificateManagerOptions['api'];
  /** Whether host names are asked for before there is an address (gate AllowDNSOnlyNodeCSR); default no. */
  readonly namesAlone?: boolean;
}

/** A serving certificate signed by the cluster, for the node's addresses. */
export class SignedServingCertificate implements ServingCertificate {
  readonly manager: CertificateManager;
  #addresses: readonly NodeAddress[] = [];

  constructor(options: SignedServingOptions) {
    const { clock, timeline, random, metrics, files, certDir, nodeName, api, namesAlone } = options;
    this.manager = new CertificateManager({
      clock,
      timeline,
      random,
      purpose: 'serving',
      store: new CertificateStore({
        files,
        clock,
        directory: certDir,
        name: 'kubelet-server',
        onSetAside: (file) => recordSetAside(timeline, file),
      }),
      template: () => servingTemplate(nodeName, this.#addresses, { namesAlone }),
      api,
      ...(metrics === undefined ? {} : { metrics }),
    });
  }

  get current(): CertificatePair | undefined {
    return this.manager.current;
  }

  setAddresses(addresses: readonly NodeAddress[]): void {
    this.#addresses = addresses;
    this.manager.templateChanged();
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.manager.load();
    await this.manager.run(signal);
  }
}

export interface ServingFiles {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** A pair in use that could not be written to these files yet. */
  readonly unstored?: CertificatePair;
  /** Whether the files may change while they are in use (gate ReloadKubeletServerCertificateFile); default yes. */
  readonly reloads?: boolean;
}

const fileCheckMs = 10_000;

/** A pair of files, reloaded when they change; an unusable change leaves the old pair in use. */
export class FileServingCertificate implements ServingCertificate {
  readonly #options: ServingFiles;
  #pair: CertificatePair;
  #lastProblem = '';
  #isStored = false;

  private constructor(options: ServingFiles, pair: CertificatePair) {
    this.#options = options;
    this.#pair = pair;
  }

  /** Rejects if the files are unusable at the start. */
  static async open(options: ServingFiles): Promise<FileServingCertificate> {
    if (options.unstored !== undefined) return new FileServingCertificate(options, options.unstored);
    const { certificatePem, keyPem } = await readFiles(options);
    return new FileServingCertificate(options, certificatePair(certificatePem, keyPem));
  }

  get current(): CertificatePair {
    return this.#pair;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, fileCheckMs, signal);
      if (this.#options.reloads ?? true) await this.reload();
    }
  }

  /** Returns whether the disk has accepted the pair; if it never does, that was already reported. */
  async #store({ certificatePem, keyPem }: CertificatePair): Promise<boolean> {
    if (this.#isStored) return true;
    const { files, timeline, certificateFile, keyFile } = this.#options;
    try {
      await replaceFile(files, keyFile, keyPem, { mode: 0o600, directoryMode: 0o755 });
      await replaceFile(files, certificateFile, certificatePem, { mode: 0o644 });
    } catch {
      return false;
    }
    this.#isStored = true;
    const message = `the self-signed serving certificate is written to ${certificateFile}`;
    timeline.record({
      kind: 'effect',
      what: 'certificate.serving',
      message,
      because: 'the disk accepts writes again',
    });
    return true;
  }

  async reload(): Promise<void> {
    const { timeline, certificateFile } = this.#options;
    if (this.#options.unstored !== undefined && !(await this.#store(this.#options.unstored))) return;
    try {
      const { certificatePem, keyPem } = await readFiles(this.#options);
      const isSame = certificatePem === this.#pair.certificatePem && keyPem === this.#pair.keyPem;
      // Parsing takes much longer than comparing.
      if (!isSame) this.#pair = certificatePair(certificatePem, keyPem);
      this.#lastProblem = '';
      if (isSame) return;
      const message = `reloaded the serving certificate from ${certificateFile}`;
      timeline.record({ kind: 'effect', what: 'certificate.serving', message, because: 'the files changed' });
    } catch (error) {
      const message = `the changed serving certificate is ignored: ${errorText(error)}`;
      if (message !== this.#lastProblem)
        timeline.record({ kind: 'problem', what: 'certificate.serving', message });
      this.#lastProblem = message;
    }
  }
}

async function readFiles({
  files,
  certificateFile,
  keyFile,
}: ServingFiles): Promise<{ readonly certificatePem: string; readonly keyPem: string }> {
  const text = async (file: string): Promise<string> =>
    Buffer.from(await files.readFile(file)).toString('utf8');
  return { certificatePem: await text(certificateFile), keyPem: await text(keyFile) };
}

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

export interface SelfSignedOptions extends Omit<ServingFiles, 'certificateFile' | 'keyFile'> {
  readonly certDir: string;
  readonly hostname: string;
}

/**
 * `kubelet.crt` and `kubelet.key` in the certificate directory, created if neither exists. The key is written
 * first: a key alone is left by a crash and gets its certificate. Unusable files are set aside.
 */
export async function selfSignedFiles(options: SelfSignedOptions): Promise<ServingFiles> {
  const { files, clock, timeline, certDir, hostname } = options;
  const certificateFile = path.join(certDir, 'kubelet.crt');
  const keyFile = path.join(certDir, 'kubelet.key');
  const serving = { files, clock, timeline, certificateFile, keyFile };
  const stored = await storedPair(serving);
  if (stored === 'usable') return serving;
  const pair = selfSignedPair(hostname, clock.now(), stored.keyPem);
  const { certificatePem, keyPem } = pair;
  try {
    await replaceFile(files, keyFile, keyPem, { mode: 0o600, directoryMode: 0o755 });
    await replaceFile(files, certificateFile, certificatePem, { mode: 0o644 });
  } catch (error) {
    const message = `the self-signed serving certificate is in use but cannot be stored: ${errorText(error)}`;
    timeline.record({ kind: 'problem', what: 'certificate.serving', message, level: 'warn' });
    return { ...serving, unstored: certificatePair(certificatePem, keyPem) };
  }
  const message = `a self-signed serving certificate was written to ${certificateFile}`;
  timeline.record({ kind: 'effect', what: 'certificate.serving', message, because: 'none was configured' });
  return serving;
}

/** Whether there is a usable pair; otherwise the key for a new certificate, if there is one. */
async function storedPair(serving: ServingFiles): Promise<'usable' | { readonly keyPem?: string }> {
  const { certificateFile, keyFile } = serving;
  const certificatePem = await usableText(serving, certificateFile);
  const keyPem = await usableText(serving, keyFile);
  if (certificatePem.kind === 'missing' && keyPem.kind === 'missing') return {};
  if (certificatePem.kind === 'found' && keyPem.kind === 'missing')
    throw new Error(`error reading ${keyFile}, certificate and key must be supplied as a pair`);
  if (keyPem.kind === 'found' && certificatePem.kind !== 'found' && isPrivateKey(keyPem.value))
    return { keyPem: keyPem.value };
  let problem = 'the other half of the pair cannot be used';
  if (certificatePem.kind === 'found' && keyPem.kind === 'found') {
    try {
      certificatePair(certificatePem.value, keyPem.value);
      return 'usable';
    } catch (error) {
      problem = errorText(error);
    }
  }
  if (certificatePem.kind === 'found') await moveAway(serving, certificateFile, problem);
  if (keyPem.kind === 'found') await moveAway(serving, keyFile, problem);
  return {};
}

async function usableText(serving: ServingFiles, file: string): Promise<DurableFileRead<string>> {
  try {
    const text = await readWholeFile(serving.files, file);
    return text === undefined ? { kind: 'missing' } : { kind: 'found', value: text };
  } catch (error) {
    if (isHostError(error, 'EACCES')) return { kind: 'missing' };
    if (isShortage(error)) throw error;
    const reason = isHostError(error) ? `it cannot be read (${error.code})` : errorText(error);
    return { kind: 'set aside', ...(await moveAway(serving, file, reason)) };
  }
}

async function moveAway(
  { files, clock, timeline }: ServingFiles,
  file: string,
  reason: string,
): Promise<UnusableFile> {
  const unusable = { path: file, movedTo: await setAside(files, file, clock.now()), reason };
  recordSetAside(timeline, unusable);
  return unusable;
}

/** A certificate for this name, signed by its own unknown authority. */
export function selfSignedPair(
  hostname: string,
  nowMs: number,
  keyPem = generateKeyPem('rsa-2048'),
): { readonly certificatePem: string; readonly keyPem: string } {
  const seconds = Math.floor(nowMs / 1000);
  const validity = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs - hourMs + yearMs };
  const issuer = { subject: { commonName: `${hostname}-ca@${seconds}` }, keyPem: generateKeyPem('rsa-2048') };
  const authority = makeCertificate({ ...issuer, ...validity, isAuthority: true });
  const certificate = makeCertificate({
    subject: { commonName: `${hostname}@${seconds}` },
    keyPem,
    issuer,
    ...validity,
    usages: ['serverAuth'],
    names: isIP(hostname) === 0 ? { dnsNames: [hostname] } : { ipAddresses: [hostname] },
  });
  return { certificatePem: certificate + authority, keyPem };
}
