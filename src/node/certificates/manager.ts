/** Keeps one certificate of the node valid: requests it, stores it, and rotates it in time. */

import {
  type Clock,
  errorText,
  isCancelled,
  linkedController,
  sleep,
  throwIfCancelled,
  WakeableSleep,
  withTimeout,
} from '../../async/index.js';
import { semanticEqual } from '../../kube/index.js';
import { generateKeyPem, isApiError, type KubeApi } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type CertificateMetrics, createClientCertificateMetrics } from '../metrics.js';
import { type CertificatePair, type CertificateTemplate, certificatePair, satisfies } from './pair.js';
import { type CertificatePurpose, signingRequest } from './request.js';
import { rotationDeadlineMs, rotationRetryMs } from './rotation.js';
import { createRequest, waitForCertificate } from './signing.js';
import type { CertificateStore } from './store.js';

export interface CertificateManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly purpose: CertificatePurpose;
  readonly store: CertificateStore;
  /** What to request; undefined while that is not known. */
  readonly template: () => CertificateTemplate | undefined;
  /** The client for requests; the bootstrap credentials serve until there is a certificate. */
  readonly api: (current: CertificatePair | undefined) => KubeApi;
  /** A pair to store, and rotate at once, if the store has none. */
  readonly bootstrap?: { readonly certificatePem: string; readonly keyPem: string };
  readonly onChange?: (pair: CertificatePair) => void;
  /** Default: metrics that nobody reads. */
  readonly metrics?: CertificateMetrics;
}

const issueLimitMs = 900_000;
const pauseMs = 1_000;
const storeLimitMs = 30_000;
const storeRetryMs = 1_000;
/** The wall clock may be set meanwhile, so no wait for a wall-clock time is longer. */
const longestWaitMs = 600_000;

export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #metrics: CertificateMetrics;
  #pair: CertificatePair | undefined;
  #deadline: { readonly of: CertificatePair; readonly atMs: number } | undefined;
  #forced = false;
  #unstored:
    | { readonly pair: CertificatePair; readonly failures: number; readonly dueMs: number }
    | undefined;
  #serverHealthy = false;
  #requested: { readonly template: CertificateTemplate; readonly abort: AbortController } | undefined;
  /** Woken when the template changes. */
  readonly #rest = new WakeableSleep();

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createClientCertificateMetrics();
  }

  /** The certificate in use; undefined if there is none or it has expired. */
  get current(): CertificatePair | undefined {
    const pair = this.#pair;
    return pair !== undefined && this.#options.clock.now() <= pair.notAfterMs ? pair : undefined;
  }

  /** The same, expired or not. */
  get last(): CertificatePair | undefined {
    return this.#pair;
  }

  /** Whether the server responded to the last certificate call, even with a refusal. */
  get serverHealthy(): boolean {
    return this.#serverHealthy;
  }

  /** Whole seconds until the certificate expires; infinite without one. */
  ttlSeconds(): number {
    const pair = this.#pair;
    if (pair === undefined) return Number.POSITIVE_INFINITY;
    return Math.trunc((pair.notAfterMs - this.#options.clock.now()) / 1000);
  }

  /** Loads the stored pair; call before `run`. */
  async load(): Promise<void> {
    const { store, bootstrap, purpose } = this.#options;
    try {
      this.#pair = await store.current();
    } catch (error) {
      this.#problem(`the stored ${purpose} certificate cannot be used: ${errorText(error)}`);
    }
    if (this.#pair !== undefined || bootstrap === undefined) return;
    this.#pair = await this.#store(certificatePair(bootstrap.certificatePem, bootstrap.keyPem));
    this.#forced = true;
  }

  /** A pair that cannot be written to disk is used anyway, and stored as soon as possible. */
  async #store(pair: CertificatePair): Promise<CertificatePair> {
    const { store, purpose, clock } = this.#options;
    const failures = this.#unstored?.pair === pair ? this.#unstored.failures + 1 : 1;
    try {
      await withTimeout(clock, storeLimitMs, undefined, () => store.update(pair.certificatePem, pair.keyPem));
      this.#unstored = undefined;
    } catch (error) {
      const waitMs = Math.min(storeRetryMs * 2 ** (failures - 1), longestWaitMs);
      this.#unstored = { pair, failures, dueMs: clock.monotonic() + waitMs };
      if (failures === 1)
        this.#problem(
          `the ${purpose} certificate is in use but cannot be stored; retrying: ${errorText(error)}`,
        );
    }
    return pair;
  }

  async #storeAgain(): Promise<void> {
    const { clock, timeline, purpose } = this.#options;
    const unstored = this.#unstored;
    if (unstored === undefined || clock.monotonic() < unstored.dueMs) return;
    await this.#store(unstored.pair);
    if (this.#unstored !== undefined) return;
    const message = `the ${purpose} certificate is stored`;
    const { failures } = unstored;
    timeline.record({ kind: 'effect', what: 'certificate.store', message, data: { failures } });
  }

  /** Call when `template` may return something new. */
  templateChanged(): void {
    const requested = this.#requested;
    if (requested !== undefined && !semanticEqual(requested.template, this.#options.template())) {
      requested.abort.abort();
    }
    this.#rest.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    let failures = 0;
    for (;;) {
      await this.#storeAgain();
      const template = this.#options.template();
      const waitMs = template === undefined ? longestWaitMs : this.#dueInMs(template);
      if (template === undefined || waitMs > 0) {
        failures = 0;
        const storeInMs = (this.#unstored?.dueMs ?? Number.POSITIVE_INFINITY) - clock.monotonic();
        await this.#rest.sleep(clock, Math.max(1, Math.min(waitMs, longestWaitMs, storeInMs)), signal);
        continue;
      }
      failures = (await this.#rotate(template, signal)) ? 0 : failures + 1;
      await (failures === 0
        ? sleep(clock, pauseMs, signal)
        : this.#rest.sleep(clock, rotationRetryMs(failures, random), signal));
    }
  }

  #dueInMs(template: CertificateTemplate): number {
    const { clock, random } = this.#options;
    const pair = this.current;
    if (pair === undefined || this.#forced || !satisfies(pair, template)) return 0;
    if (this.#deadline?.of !== pair) this.#deadline = { of: pair, atMs: rotationDeadlineMs(pair, random) };
    return this.#deadline.atMs - clock.now();
  }

  async #rotate(template: CertificateTemplate, signal: AbortSignal): Promise<boolean> {
    const { timeline, purpose, clock } = this.#options;
    timeline.record({
      kind: 'decision',
      what: 'certificate.request',
      message: `requesting a new ${purpose} certificate`,
      because: this.#because(template),
    });
    const { controller, unlink } = linkedController(signal);
    this.#requested = { template, abort: controller };
    try {
      const keyPem = generateKeyPem();
      const certificatePem = await this.#sign(template, keyPem, controller.signal);
      const before = this.#pair;
      const pair = await this.#store(certificatePair(certificatePem, keyPem));
      this.#pair = pair;
      this.#forced = false;
      if (before !== undefined) this.#metrics.rotationAge?.observe((clock.now() - before.notBeforeMs) / 1000);
      timeline.record({
        kind: 'effect',
        what: 'certificate.store',
        message: `a new ${purpose} certificate is in use, valid until ${new Date(pair.notAfterMs).toISOString()}`,
        data: { notAfterMs: pair.notAfterMs },
      });
      this.#options.onChange?.(pair);
      return true;
    } catch (error) {
      throwIfCancelled(signal);
      this.#metrics.renewErrors.inc();
      const why = isCancelled(error) ? 'the request changed meanwhile' : errorText(error);
      this.#problem(`no new ${purpose} certificate: ${why}`);
      return false;
    } finally {
      this.#requested = undefined;
      unlink();
    }
  }

  async #sign(template: CertificateTemplate, keyPem: string, signal: AbortSignal): Promise<string> {
    const { purpose, clock, random } = this.#options;
    const api = this.#options.api(this.current);
    const wanted = signingRequest({ purpose, template, keyPem, named: false });
    const request = await this.#watchHealth(() =>
      createRequest(api, wanted, { keyPem, subject: template.subject }, signal),
    );
    return await waitForCertificate({ api, clock, random, request, timeoutMs: issueLimitMs }, signal);
  }

  async #watchHealth<T>(call: () => Promise<T>): Promise<T> {
    try {
      const result = await call();
      this.#serverHealthy = true;
      return result;
    } catch (error) {
      this.#serverHealthy = isApiError(error) && [401, 403, 404].includes(error.code);
      throw error;
    }
  }

  #because(template: CertificateTemplate): string {
    if (this.#pair === undefined) return 'there is none';
    if (this.#forced) return 'the current one came with the configuration';
    if (this.current === undefined) return 'the last one has expired';
    return satisfies(this.#pair, template)
      ? 'most of its lifetime is over'
      : 'the current one lacks some of the wanted names';
  }

  #problem(message: string): void {
    this.#options.timeline.record({ kind: 'problem', what: 'certificate.request', message });
  }
}
