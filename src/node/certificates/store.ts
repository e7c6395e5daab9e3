/** Stores certificates with their keys, each pair in its own file, with a link to the one in use. */
import path from 'node:path';
import { type Clock, errorText } from '../../async/index.js';
import {
  exists,
  type HostFiles,
  isHostError,
  isMissing,
  isSetAside,
  isShortage,
  namesIn,
  readWholeFile,
  replaceFile,
  setAside,
  type UnusableFile,
} from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type CertificatePair, certificatePair, splitPem } from './pair.js';

export interface CertificateStoreOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly directory: string;
  /** `kubelet-client` or `kubelet-server`. */
  readonly name: string;
  /** A pair to use until the store has one. */
  readonly fallback?: { readonly certificateFile: string; readonly keyFile: string };
  /** Called when an unusable stored pair was set aside. */
  readonly onSetAside: (file: UnusableFile) => void;
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

  /**
   * The pair in use; undefined if there is none. An unusable stored pair is set aside and the newest earlier
   * one used instead. Rejects if a configured pair is unusable, as it is not the store's to move.
   */
  async current(): Promise<CertificatePair | undefined> {
    const { fallback } = this.#options;
    if (await exists(this.#options.files, this.currentPath)) {
      const stored = (await this.#stored(this.currentPath)) ?? (await this.#earlier());
      if (stored !== undefined) return stored;
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

  /** Stores a pair and switches to it, atomically for readers and power cuts. */
  async update(certificatePem: string, keyPem: string): Promise<CertificatePair> {
    const pair = certificatePair(certificatePem, keyPem);
    const { files, clock } = this.#options;
    const file = this.#path(`-${timestamp(clock.now())}.pem`);
    const text = withNewline(certificatePem) + withNewline(keyPem);
    await replaceFile(files, file, text, { mode: ownerOnly, directoryMode: 0o755 });
    await this.#swapLink(file);
    return pair;
  }

  /** The pair in a file of the store; an unusable one is set aside and counts as missing. */
  async #stored(file: string): Promise<CertificatePair | undefined> {
    const { files, clock, onSetAside } = this.#options;
    try {
      const whole = await readWholeFile(files, file);
      if (whole === undefined) return undefined;
      const { certificatePem, keyPem } = splitPem(whole);
      return certificatePair(certificatePem, keyPem);
    } catch (error) {
      if (isShortage(error)) throw error;
      // The link's target is broken; the next update replaces the link.
      const path = await files.realpath(file).catch(() => file);
      const reason = isHostError(error) ? `it cannot be read (${error.code})` : errorText(error);
      onSetAside({ path, movedTo: await setAside(files, path, clock.now()), reason });
      return undefined;
    }
  }

  /** Relinks and returns the newest earlier pair. */
  async #earlier(): Promise<CertificatePair | undefined> {
    const { files, directory, name } = this.#options;
    const isOfUpdate = (file: string): boolean =>
      file.startsWith(`${name}-`) && /-\d{4}(-\d\d){5}\.pem$/.test(file) && !isSetAside(file);
    const newestFirst = [...(await namesIn({ files }, directory))].filter(isOfUpdate).sort().reverse();
    for (const file of newestFirst) {
      const pair = await this.#stored(path.join(directory, file));
      if (pair === undefined) continue;
      // The pair works without the link; the next update makes one.
      await this.#swapLink(path.join(directory, file)).catch(() => undefined);
      return pair;
    }
    return undefined;
  }

  async #swapLink(target: string): Promise<void> {
    const { files, directory } = this.#options;
    const updated = this.#path('-updated.pem');
    await this.#checkLink(this.currentPath);
    if (await this.#checkLink(updated)) await files.unlink(updated);
    await files.symlink(target, updated);
    await files.rename(updated, this.currentPath);
    await files.syncDirectory(directory);
  }

  /** Whether there is a link; anything else is someone's file and must not be lost. */
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
      return await readWholeFile(this.#options.files, file);
    } catch (error) {
      throw new Error(`${file}: ${errorText(error)}`, { cause: error });
    }
  }

  #path(suffix: string): string {
    return path.join(this.#options.directory, `${this.#options.name}${suffix}`);
  }
}

export function recordSetAside(timeline: Timeline, { path, movedTo, reason }: UnusableFile): void {
  const place = movedTo === undefined ? 'it could not be moved away' : `it is kept as ${movedTo}`;
  timeline.record({
    kind: 'problem',
    what: 'certificate.store',
    message: `${path} cannot be used: ${reason}; ${place}`,
    level: 'warn',
  });
}

/** `2026-01-31-23-59-58`. */
function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19).replace(/[T:]/g, '-');
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
