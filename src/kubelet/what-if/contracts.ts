/** What `nodelet what-if` tells: plain data that survives JSON, with every list bounded. */
import type { EvictionSignal } from '../../kube/index.js';

/** The beginning of a list, and how many more there are. */
export interface BoundedList<T> {
  readonly items: readonly T[];
  readonly omitted: number;
}

/** Enough for every pod of a large node; images and dead containers can be more. */
export const listedAtMost = 1_000;

export function bounded<T>(all: readonly T[]): BoundedList<T> {
  return { items: all.slice(0, listedAtMost), omitted: Math.max(0, all.length - listedAtMost) };
}

export interface OutlookPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ThresholdOutlook {
  readonly kind: 'hard' | 'soft';
  /** In bytes or as a number, as the signal is. */
  readonly value: number;
  readonly gracePeriod: string;
  readonly met: boolean;
}

export interface PodOutlook extends OutlookPod {
  readonly priority: number;
  /** Absent where the pod has no statistics. */
  readonly usage?: number;
  readonly request: number;
  /** The place among those that would go, from one; absent for a pod that is passed over. */
  readonly place?: number;
  readonly graceSeconds: number;
  readonly because: string;
  /** Why it would be passed over. */
  readonly passedOver?: string;
}

export interface SignalOutlook {
  readonly signal: EvictionSignal;
  readonly unit: 'bytes' | 'count';
  /** Absent where the signal cannot be read, so that its thresholds are never met. */
  readonly available?: number;
  readonly capacity?: number;
  readonly thresholds: readonly ThresholdOutlook[];
  /** What the node frees by itself before any pod has to go, in order. */
  readonly reclaimFirst: readonly ('containers' | 'images')[];
  readonly pods: BoundedList<PodOutlook>;
}

export interface EvictionOutlook {
  /** Why nothing is evicted on this node at all; absent where eviction runs. */
  readonly off?: string;
  /** What the next pass would do, in a sentence. */
  readonly next: string;
  readonly conditions: readonly string[];
  readonly overLimits: BoundedList<OutlookPod & { readonly graceSeconds: number; readonly because: string }>;
  readonly signals: readonly SignalOutlook[];
}

/** By the next pass, only when the disk is full, or not at all. */
export type RemovalWhen = 'now' | 'disk-pressure' | 'kept';

export interface RuntimeItemOutlook {
  readonly id: string;
  readonly pod: OutlookPod;
  /** Absent for sandboxes. */
  readonly container?: string;
  readonly when: RemovalWhen;
  readonly because: string;
}

export interface ImageOutlook {
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly when: RemovalWhen;
  readonly because: string;
}

export interface GarbageOutlook {
  readonly containers: BoundedList<RuntimeItemOutlook>;
  readonly sandboxes: BoundedList<RuntimeItemOutlook>;
  /** With the logs of pods that are gone; all go with the next pass. */
  readonly logDirectories: BoundedList<string>;
  readonly images: BoundedList<ImageOutlook>;
  readonly imageFileSystem: {
    /** Absent where the runtime does not tell where its images are. */
    readonly usedPercent?: number;
    readonly highThresholdPercent: number;
    readonly lowThresholdPercent: number;
    /** What the next pass would have to free. */
    readonly wantedBytes: number;
  };
  /** Of all images, listed or not. */
  readonly imageBytes: { readonly now: number; readonly underDiskPressure: number };
}

export interface ShutdownPodOutlook extends OutlookPod {
  readonly priority: number;
  readonly graceSeconds: number;
  readonly because: string;
}

export interface ShutdownGroupOutlook {
  /** The group has the pods from this priority up to that of the next group. */
  readonly priority: number;
  /** How long the group gets at most. */
  readonly periodSeconds: number;
  readonly pods: BoundedList<ShutdownPodOutlook>;
}

export interface ShutdownOutlook {
  /** Why a shutdown waits for no pod; absent where it does. */
  readonly off?: string;
  /** What the machine's shutdown is delayed by at most. */
  readonly delaySeconds: number;
  /** In the order in which they end. */
  readonly groups: readonly ShutdownGroupOutlook[];
}

export interface FieldChange {
  /** `maxPods`, `evictionHard[memory.available]` or `featureGates.NAME`. */
  readonly field: string;
  readonly before: string;
  readonly after: string;
  /** Every setting is read at the start; `none` is for what this build does not act on. */
  readonly effect: 'restart' | 'none';
}

export interface ValueChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export interface PodRefusal extends OutlookPod {
  readonly reason: string;
  readonly message: string;
}

export interface MetThreshold {
  readonly signal: EvictionSignal;
  readonly unit: 'bytes' | 'count';
  readonly kind: 'hard' | 'soft';
  readonly value: number;
  readonly gracePeriod: string;
  readonly available?: number;
}

export type ConfigOutlook =
  /** The agent would not start with the file. */
  | {
      readonly kind: 'refused';
      readonly file: string;
      /** Names the field and what it must be. */
      readonly problem: string;
      readonly hint?: string;
    }
  | {
      readonly kind: 'accepted';
      readonly file: string;
      readonly warnings: BoundedList<string>;
      readonly changes: BoundedList<FieldChange>;
      /** Of the node's resources for pods. */
      readonly allocatable: readonly ValueChange[];
      readonly cgroups: BoundedList<ValueChange & { readonly cgroup: string }>;
      readonly eviction: {
        readonly off?: string;
        readonly next: string;
        readonly met: readonly MetThreshold[];
        readonly overLimits: EvictionOutlook['overLimits'];
      };
      /** Pods that run now and that a start with the file refuses. */
      readonly refusedPods: BoundedList<PodRefusal>;
      /** Images that go now only with the file. */
      readonly images: { readonly goNow: BoundedList<ImageOutlook>; readonly bytes: number };
      readonly shutdownDelaySeconds: { readonly before: number; readonly after: number };
    };

/** Looks at the live state and tells what would happen. No method changes anything. */
export interface WhatIf {
  /** Rejects when the node cannot be seen. */
  evict(): Promise<EvictionOutlook>;
  gc(): Promise<GarbageOutlook>;
  shutdown(): ShutdownOutlook;
  /**
   * What the node would do with this text as its configuration file, in place of the current one if no name is given;
   * undefined for a node that has no such file.
   */
  config(text: string, file?: string): Promise<ConfigOutlook | undefined>;
}
