/** The store of what pods were given: it survives restarts, and nothing is in force before a restart would find it. */
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import {
  formatResourceCheckpoint,
  type Pod,
  type PodResourceEntry,
  parseResourceCheckpoint,
} from '../../kube/index.js';
import { differs, entryOf, hasVolumesOf, withEntry } from './allocated-pod.js';

export interface AllocatedResourcesOptions {
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
  /** Whether the sizes of volumes in memory are given to pods, too; default no. */
  readonly hasVolumes?: boolean;
}

interface AllocatedView {
  readonly pod: Pod;
  readonly entry: PodResourceEntry;
  readonly seen: Pod;
}

export const allocatedPodsName = 'allocated_pods_state';

export class AllocatedResources {
  readonly #options: AllocatedResourcesOptions;
  readonly #file: DurableState | undefined;
  readonly #entries = new Map<string, PodResourceEntry>();
  /** Granted, but not on disk yet; part of what is written. */
  readonly #grants = new Map<string, PodResourceEntry>();
  readonly #fromBefore = new Set<string>();
  readonly #guessed = new Set<string>();
  /** Pods whose record is not known to be on disk. */
  readonly #unwritten = new Set<string>();
  /** The last view of each pod, which is asked for often and changes rarely. */
  readonly #views = new Map<string, AllocatedView>();
  #isLost = false;

  constructor(options: AllocatedResourcesOptions) {
    this.#options = options;
    const { checkpoint } = options;
    if (checkpoint === undefined) return;
    this.#file = new DurableState(
      checkpoint.store,
      join(checkpoint.rootDir, allocatedPodsName),
      () => formatResourceCheckpoint(new Map([...this.#entries, ...this.#grants])),
      { isReadNewest: true },
    );
  }

  async start(): Promise<void> {
    const { checkpoint } = this.#options;
    if (checkpoint === undefined) return;
    const path = join(checkpoint.rootDir, allocatedPodsName);
    const found = await checkpoint.store.readNewest(path, parseResourceCheckpoint);
    this.#isLost = found.kind !== 'found';
    if (found.kind !== 'found') return;
    for (const [uid, { EmptyDirVolumeLimits, ...entry }] of found.value) {
      const hasLimits = this.#options.hasVolumes === true && EmptyDirVolumeLimits !== undefined;
      this.#entries.set(uid, hasLimits ? { ...entry, EmptyDirVolumeLimits } : entry);
      this.#fromBefore.add(uid);
    }
  }

  /** Whether the start found no record: pods that run may have been given something all the same. */
  get isLost(): boolean {
    return this.#isLost;
  }

  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  /** Whether the pod was given its resources before this start. */
  isFromBefore(uid: string): boolean {
    return this.#fromBefore.has(uid) && this.#entries.has(uid);
  }

  isGuessed(uid: string): boolean {
    return this.#guessed.has(uid);
  }

  /** The pod with what it was given; the pod itself where nothing is recorded. */
  allocatedPod(pod: Pod): Pod {
    const { uid } = pod.metadata;
    const entry = this.#entries.get(uid);
    if (entry === undefined) return pod;
    const view = this.#views.get(uid);
    if (view?.entry === entry && (view.pod === pod || view.seen === pod)) return view.seen;
    const seen = withEntry(pod, entry);
    this.#views.set(uid, { pod, entry, seen });
    return seen;
  }

  /** Whether the pod asks for anything else than it was given. */
  differs(pod: Pod): boolean {
    const entry = this.#entries.get(pod.metadata.uid);
    return entry !== undefined && differs(pod, entry);
  }

  /** Whether the second of two states of a pod asks for anything else than the first. */
  isChanged(before: Pod, after: Pod): boolean {
    return differs(after, this.#entryOf(before));
  }

  /** Gives a pod all that it asks for; `recorded` tells when that is on disk. */
  set(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#entries.get(uid);
    // The record of a run that did not follow volumes lacks theirs.
    const isComplete = known !== undefined && (!this.#options.hasVolumes || hasVolumesOf(known, pod));
    if (isComplete && !differs(pod, known)) return;
    this.#entries.set(uid, this.#entryOf(pod));
    this.#unwritten.add(uid);
    this.#file?.changed();
  }

  /** For a pod that ran before its record was lost; what it was given is a guess. */
  restore(pod: Pod): void {
    this.set(pod);
    this.#fromBefore.add(pod.metadata.uid);
    this.#guessed.add(pod.metadata.uid);
  }

  /**
   * Gives a pod other resources. They are in force once a restart of the agent would find them; if they cannot be
   * written, they never are. It does not wait for the disk: only a power cut undoes what is not synced, and then no
   * container runs on with more than the older record says.
   */
  async grant(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const entry = this.#entryOf(pod);
    this.#grants.set(uid, entry);
    this.#file?.changed();
    try {
      await this.#lasting();
      // A pod that was removed meanwhile gets nothing any more.
      if (this.#grants.get(uid) === entry && this.#entries.has(uid)) this.#entries.set(uid, entry);
    } catch (error) {
      this.#file?.changed();
      throw error;
    } finally {
      if (this.#grants.get(uid) === entry) this.#grants.delete(uid);
    }
  }

  /** Does not write the file for that alone. */
  remove(uid: string): void {
    this.#entries.delete(uid);
    this.#grants.delete(uid);
    this.#fromBefore.delete(uid);
    this.#guessed.delete(uid);
    this.#unwritten.delete(uid);
    this.#views.delete(uid);
  }

  /** Forgets all other pods. */
  keepOnly(isKept: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKept(uid)) this.remove(uid);
  }

  /** Whether a restart would find what the pod was given. */
  isRecorded(uid: string): boolean {
    return !this.#unwritten.has(uid);
  }

  /** Resolves once what the pod was given is on disk; fails if it cannot be written. */
  async recorded(uid: string): Promise<void> {
    if (!this.#unwritten.has(uid)) return;
    await this.#lasting();
    this.#unwritten.delete(uid);
  }

  #entryOf(pod: Pod): PodResourceEntry {
    return entryOf(pod, this.#options);
  }

  async #lasting(): Promise<void> {
    try {
      await this.#file?.lasting();
    } catch (error) {
      const where = join(this.#options.checkpoint?.rootDir ?? '', allocatedPodsName);
      throw new Error(`could not record allocated resources in ${where}: ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  /** Resolves when everything is written, or cannot be. */
  async stop(): Promise<void> {
    await this.#file?.stop();
  }
}
