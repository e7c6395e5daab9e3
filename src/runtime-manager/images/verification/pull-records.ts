/** Remembers the credentials each image was pulled with, and checks later pods against them. */

import { BoundedMap, type Clock } from '../../../async/index.js';
import type { CriRuntime } from '../../../cri/index.js';
import type { DurableFiles } from '../../../host/index.js';
import { formatTimestamp, type Pod, parseTimestamp } from '../../../kube/index.js';
import type { Timeline } from '../../../timeline/index.js';
import type { PullCredentials, PullSecretSource, ServiceAccountSource } from '../../contracts.js';
import { createPullRecordMetrics, type PullRecordMetrics } from '../../metrics.js';
import type { ImageAccess, PullRecorder } from '../image-manager.js';
import {
  type AccessVerdict,
  judgeAccess,
  judgeServiceAccount,
  needsVerification,
  type PullAccess,
  type PulledRecord,
  recordsServiceAccounts,
  type VerificationPolicy,
  withAccess,
} from './pulled-record.js';
import { intentFiles, type PullIntent, pulledFiles, type RecordFiles, recordName } from './record-files.js';

/** Records cached in memory. */
const rememberedRecords = 1000;

export type MustPullResult =
  | 'credentialPolicyAllowed'
  | 'credentialRecordFound'
  | 'mustAuthenticate'
  | 'error';

export interface PullRecordsOptions {
  readonly rootDir: string;
  readonly store: DurableFiles;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly policy: VerificationPolicy;
  readonly allowlist: readonly string[];
  /** The pod's own credentials that match the image. */
  readonly podSecrets: (pod: Pod, image: string) => Promise<readonly PullSecretSource[]>;
  /** The pod's service account, if plugins give it credentials for the image. Absent: never. */
  readonly podServiceAccount?: (
    pod: Pod,
    image: string,
    signal: AbortSignal | undefined,
  ) => Promise<ServiceAccountSource | undefined>;
  /** Absent: metrics that nobody reads. */
  readonly metrics?: PullRecordMetrics;
}

export class PullRecords implements ImageAccess, PullRecorder {
  readonly #options: PullRecordsOptions;
  readonly #metrics: PullRecordMetrics;
  readonly #intents: RecordFiles<PullIntent>;
  readonly #pulled: RecordFiles<PulledRecord>;
  /** The agent is the only writer, so the cache never goes stale. */
  readonly #known = new BoundedMap<string, PulledRecord | undefined>({ maxEntries: rememberedRecords });
  /** How many pulls of an image are running, or may have been when the agent last stopped. */
  readonly #pulling = new Map<string, number>();
  /** Records that replace lost ones and are not on disk yet; the next prune retries. */
  readonly #unwritten = new Map<string, PulledRecord>();
  /** Serializes changes of records. */
  #turn: Promise<unknown> = Promise.resolve();
  #recordCount = 0;

  constructor(options: PullRecordsOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createPullRecordMetrics();
    this.#intents = intentFiles(options.store, options.rootDir);
    this.#pulled = pulledFiles(options.store, options.rootDir);
  }

  /**
   * Restores the records of an earlier run. A pull that ended while the agent was down leaves an image
   * without known access, and so does a lost record: pods have to present their credentials for it.
   */
  async start(cri: Pick<CriRuntime, 'listImages'>): Promise<void> {
    const pulled = await this.#pulled.list();
    const intents = await this.#intents.list();
    this.#recordCount = pulled.records.length;
    const needed = intents.records.length + intents.lost.size + pulled.lost.size;
    const { images } = needed === 0 ? { images: [] } : await cri.listImages({});
    for (const { image } of intents.records) {
      const found = images.find(
        ({ repoTags, repoDigests }) => repoTags.includes(image) || repoDigests.includes(image),
      );
      if (found === undefined) {
        this.#pulling.set(image, 1);
        continue;
      }
      await this.#record(image, found.id, undefined);
      await this.#intents.remove(image);
    }
    for (const { id, repoTags, repoDigests } of images) {
      for (const image of [...repoTags, ...repoDigests]) {
        if (pulled.lost.has(recordName(id)) || intents.lost.has(recordName(image)))
          await this.#forNobody(image, id);
      }
    }
    this.#count();
  }

  async pulling(image: string): Promise<void> {
    await this.#inTurn(async () => {
      await this.#intents.write({ image });
      this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1);
    });
    this.#count();
  }

  async pulled(image: string, imageRef: string, credentials: PullCredentials | undefined): Promise<void> {
    const access = accessOf(credentials);
    try {
      await this.#inTurn(() => this.#record(image, imageRef, access));
    } catch (error) {
      // The intent stays, so the image counts as pulled and pods have to present their credentials.
      this.#problem(`the pull of ${image} could not be recorded`, error);
      return;
    }
    await this.#end(image);
  }

  async failed(image: string): Promise<void> {
    await this.#end(image);
  }

  async mayUse(pod: Pod, image: string, localId: string, signal?: AbortSignal): Promise<boolean> {
    const { policy, allowlist } = this.#options;
    if (policy === 'NeverVerify') {
      this.#checked('credentialPolicyAllowed');
      return true;
    }
    try {
      const record = await this.#read(image, localId);
      const pulledByAgent = record !== undefined || this.#pulling.has(image);
      if (!needsVerification(policy, image, { pulledByAgent, allowlist })) {
        this.#checked('credentialPolicyAllowed');
        return true;
      }
      const verdict = await this.#judge(record, pod, image, signal);
      this.#checked(verdict.kind === 'use' ? 'credentialRecordFound' : 'mustAuthenticate');
      if (verdict.kind === 'pull') return false;
      const { learned } = verdict;
      if (learned !== undefined) {
        await this.#inTurn(() => this.#record(image, localId, { kind: 'secret', secret: learned })).catch(
          (error: unknown) => this.#problem(`the record of ${image} could not be extended`, error),
        );
      }
      return true;
    } catch (error) {
      this.#checked('error');
      this.#problem(`whether the pod may use ${image} is not known; it has to be pulled`, error);
      return false;
    }
  }

  async #judge(
    record: PulledRecord | undefined,
    pod: Pod,
    image: string,
    signal: AbortSignal | undefined,
  ): Promise<AccessVerdict> {
    const { podSecrets, podServiceAccount } = this.#options;
    const verdict = judgeAccess(record, image, await podSecrets(pod, image));
    if (verdict.kind === 'use' || !recordsServiceAccounts(record, image)) return verdict;
    return judgeServiceAccount(record, image, await podServiceAccount?.(pod, image, signal));
  }

  /** Deletes records older than `beforeMs` whose images are not kept. */
  async prune(beforeMs: number, keptIds: ReadonlySet<string>): Promise<void> {
    await this.#inTurn(async () => {
      for (const [imageRef, record] of this.#unwritten) {
        await this.#pulled.write(this.#known.get(imageRef) ?? record);
        this.#unwritten.delete(imageRef);
      }
      const { records } = await this.#pulled.list();
      for (const { imageRef, lastUpdatedTime } of records) {
        if (keptIds.has(imageRef) || (parseTimestamp(lastUpdatedTime) ?? 0) >= beforeMs) continue;
        await this.#pulled.remove(imageRef);
        this.#known.delete(imageRef);
        this.#recordCount--;
      }
    });
    this.#count();
  }

  async #read(image: string, imageRef: string): Promise<PulledRecord | undefined> {
    if (this.#known.has(imageRef)) return this.#known.get(imageRef);
    const unwritten = this.#unwritten.get(imageRef);
    if (unwritten !== undefined) return unwritten;
    const found = await this.#pulled.read(imageRef);
    if (found.kind === 'set aside') return this.#forNobody(image, imageRef);
    const record = found.kind === 'found' ? found.value : undefined;
    this.#remember(imageRef, record);
    return record;
  }

  /** The record of an image that lost its own. Without one it would count as preloaded, open to every pod. */
  async #forNobody(image: string, imageRef: string): Promise<PulledRecord> {
    const now = formatTimestamp(this.#options.clock.now());
    const record = withAccess(undefined, { image, imageRef, access: undefined, now });
    this.#remember(imageRef, record);
    await this.#pulled.write(record).catch((error: unknown) => {
      this.#unwritten.set(imageRef, record);
      this.#problem(`the record of ${image} could not be rewritten`, error);
    });
    return record;
  }

  async #record(image: string, imageRef: string, access: PullAccess | undefined): Promise<void> {
    const before = await this.#read(image, imageRef);
    const now = formatTimestamp(this.#options.clock.now());
    const after = withAccess(before, { image, imageRef, access, now });
    if (after === before) return;
    await this.#pulled.write(after);
    if (before === undefined) this.#recordCount++;
    this.#remember(imageRef, after);
  }

  #remember(imageRef: string, record: PulledRecord | undefined): void {
    this.#known.set(imageRef, record);
  }

  async #end(image: string): Promise<void> {
    await this.#inTurn(async () => {
      const left = (this.#pulling.get(image) ?? 1) - 1;
      if (left > 0) {
        this.#pulling.set(image, left);
        return;
      }
      await this.#intents.remove(image);
      this.#pulling.delete(image);
    }).catch((error: unknown) =>
      this.#problem(`the end of the pull of ${image} could not be recorded`, error),
    );
    this.#count();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #count(): void {
    const intents = this.#pulling.size;
    const records = this.#recordCount;
    this.#metrics.intents.set(intents);
    this.#metrics.records.set(records);
    this.#metrics.intentUsage.set(Math.min(100, (intents * 100) / rememberedRecords));
    this.#metrics.recordUsage.set(Math.min(100, (records * 100) / rememberedRecords));
  }

  #checked(result: MustPullResult): void {
    this.#metrics.checks.inc({ result });
  }

  #problem(message: string, error: unknown): void {
    this.#options.timeline.record({ kind: 'problem', what: 'image.records', message, level: 'warn', error });
  }
}

function accessOf(credentials: PullCredentials | undefined): PullAccess {
  if (credentials?.source !== undefined) return { kind: 'secret', secret: credentials.source };
  const account = credentials?.serviceAccount;
  return account === undefined ? { kind: 'node' } : { kind: 'serviceAccount', account };
}
