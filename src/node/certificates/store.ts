/** Keeps certificates with their keys in files: each in its own, and a link to the one in use. */
import path from 'node:path';
import type { Clock } from '../../async/index.js';
import { type HostFiles, isMissing } from '../../host/index.js';
import { type CertificatePair, certificatePair, splitPem } from './pair.js';

export interface CertificateStoreOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly directory: string;
  /** `kubelet-client` or `kubelet-server`. */
  readonly name: string;
  /** Where a pair stands that is used until the store has one. */
  readonly fallback?: { readonly certificateFile: string; readonly keyFile: string };
}

const ownerOnly = 0o600;

export class CertificateStore {
  readonly #options: CertificateStoreOptions;

  constructor(options: CertificateStoreOptions) {
    this.#options = options;
  }

  /** The link to the pair in use. */
  get currentPath(): string {
    return this.#path('-current.pem');
  }

  /** The pair in use; undefined when there is none. Rejects when there is one that cannot be used. */
  async current(): Promise<CertificatePair | undefined> {
    const { fallback } = this.#options;
    const whole = await this.#read(this.currentPath);
    if (whole !== undefined) {
      const { certificatePem, keyPem } = splitPem(whole);
      return certificatePair(certificatePem, keyPem);
    }
    const places = [
      ...(fallback === undefined ? [] : [[fallback.certificateFile, fallback.keyFile] as const]),
      [this.#path('.crt'), this.#path('.key')] as const,
    ];
    for (const [certificateFile, keyFile] of places) {
      const certificate = await this.#read(certificateFile);
      const key = await this.#read(keyFile);
      if (certificate === undefined || key === undefined) continue;
      return certificatePair(splitPem(certificate).certificatePem, splitPem(key).keyPem);
    }
    return undefined;
  }

  /** Stores a pair and makes it the one in use, in one step for whoever reads it. */
  async update(certificatePem: string, keyPem: string): Promise<CertificatePair> {
    const pair = certificatePair(certificatePem, keyPem);
    const { files, clock, directory } = this.#options;
    await files.mkdir(directory, { recursive: true, mode: 0o755 });
    const file = this.#path(`-${timestamp(clock.now())}.pem`);
    await files.writeFile(file, withNewline(certificatePem) + withNewline(keyPem), { mode: ownerOnly });
    await this.#swapLink(file);
    return pair;
  }

  async #swapLink(target: string): Promise<void> {
    const { files } = this.#options;
    const updated = this.#path('-updated.pem');
    await this.#checkLink(this.currentPath);
    if (await this.#checkLink(updated)) await files.unlink(updated);
    await files.symlink(target, updated);
    await files.rename(updated, this.currentPath);
  }

  /** Whether there is a link; anything else there is somebody's file, which must not be lost. */
  async #checkLink(file: string): Promise<boolean> {
    try {
      const { kind } = await this.#options.files.lstat(file);
      if (kind !== 'symlink') throw new Error(`${file} is a ${kind} where a symbolic link was expected`);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async #read(file: string): Promise<string | undefined> {
    try {
      return Buffer.from(await this.#options.files.readFile(file)).toString('utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #path(suffix: string): string {
    return path.join(this.#options.directory, `${this.#options.name}${suffix}`);
  }
}

/** `2026-01-31-23-59-58`. */
function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19).replace(/[T:]/g, '-');
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
