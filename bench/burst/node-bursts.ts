/** Bursts of pods on one node, through the API and from files, with where the time of each pod went. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resources } from '../../src/kube-client/index.js';
import { readDiskRing, type TimelineEntry } from '../../src/timeline/index.js';
import type { ClusterNode } from '../../test/env/cluster-node.js';
import { processTreeCpuMs } from '../agent.js';
import type { PodWatch } from '../cluster/pod-moments.js';
import { type ClusterGround, namespace } from '../cluster/visit.js';
import { showFiles } from '../pods.js';
import type { SideBurst } from './figures.js';
import { byPod, endStepsOf, finishedAtMs, type PodSpan, readyAtMs, startStepsOf } from './phases.js';
import { burstManifest, burstPod } from './pods.js';

/** Between a burst's starts and its ends, and after them: what a kubelet has left to write, such as events. */
const settleMs = 2_000;
const wallMs = (monotonicMs = Number.NaN): number => performance.timeOrigin + monotonicMs;

export class NodeBursts {
  readonly #ground: ClusterGround;
  readonly #node: ClusterNode;
  readonly #watch: PodWatch;
  /** The reference writes no timeline. */
  readonly #hasTimeline: boolean;

  constructor(ground: ClusterGround, node: ClusterNode, watch: PodWatch, hasTimeline: boolean) {
    this.#ground = ground;
    this.#node = node;
    this.#watch = watch;
    this.#hasTimeline = hasTimeline;
  }

  async throughApi(name: string, count: number): Promise<SideBurst> {
    const { api } = this.#ground;
    const names = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    const lives = this.#watch.lives(names);
    const created = await this.#measured(
      count,
      () => Promise.all(names.map((pod) => api.create(resources.pods, burstPod(pod, this.#node.name)))),
      () => this.#watch.allReady(names, () => this.#problems()),
    );
    const deleted = await this.#measured(
      count,
      () => Promise.all(names.map((pod) => api.delete(resources.pods, { namespace, name: pod }))),
      () => this.#watch.allGone(names, () => this.#problems()),
    );
    const entries = await this.#entries();
    const spansOf = (startMs: number, to: 'readyMs' | 'goneMs', told: 'toldMs' | 'endingMs'): PodSpan[] =>
      lives.map((life) => ({
        fromMs: wallMs(startMs),
        toldMs: wallMs(life[told]),
        toMs: wallMs(life[to]),
      }));
    const own = (index: number): readonly TimelineEntry[] => entries.get(names[index] ?? '') ?? [];
    return {
      readyMs: created.doneMs,
      goneMs: deleted.doneMs,
      cpuMs: { start: created.cpuMs, end: deleted.cpuMs },
      ...(this.#hasTimeline
        ? {
            steps: {
              start: spansOf(created.startMs, 'readyMs', 'toldMs').map((span, index) =>
                startStepsOf(own(index), span),
              ),
              end: spansOf(deleted.startMs, 'goneMs', 'endingMs').map((span, index) =>
                endStepsOf(own(index), span),
              ),
            },
          }
        : {}),
    };
  }

  /** Ready and gone as the agent noted it: nobody asks the API about these pods. */
  async fromFiles(name: string, count: number): Promise<SideBurst> {
    const names = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    const shown = names.map((pod) => `${pod}-${this.#node.name}`);
    const dir = this.#node.staticPodDir;
    const created = await this.#measured(
      count,
      async () =>
        void showFiles(
          dir,
          names.map((pod) => ({ file: `${pod}.json`, content: burstManifest(pod) })),
        ),
      () => this.#watch.allReady(shown, () => this.#problems()),
    );
    const deleted = await this.#measured(
      count,
      async () => {
        for (const pod of names) rmSync(join(dir, `${pod}.json`));
      },
      () => this.#watch.allGone(shown, () => this.#problems()),
    );
    const entries = await this.#entries();
    const [startMs, endMs] = [wallMs(created.startMs), wallMs(deleted.startMs)];
    const found = shown.map((pod) => {
      const own = entries.get(pod) ?? [];
      const [readyMs, goneMs] = [readyAtMs(own), finishedAtMs(own)];
      if (readyMs === undefined || goneMs === undefined)
        throw new Error(`the timeline has no life of ${pod}`);
      return {
        readyMs: readyMs - startMs,
        goneMs: goneMs - endMs,
        start: startStepsOf(own, { fromMs: startMs, toldMs: startMs, toMs: readyMs }),
        end: endStepsOf(own, { fromMs: endMs, toldMs: endMs, toMs: goneMs }),
      };
    });
    return {
      readyMs: found.map(({ readyMs }) => readyMs),
      goneMs: found.map(({ goneMs }) => goneMs),
      cpuMs: { start: created.cpuMs, end: deleted.cpuMs },
      steps: { start: found.map(({ start }) => start), end: found.map(({ end }) => end) },
    };
  }

  /** Every moment counts from the one before the first request. */
  async #measured(
    count: number,
    ask: () => Promise<unknown>,
    seen: () => Promise<number[]>,
  ): Promise<{ startMs: number; doneMs: number[]; cpuMs: number }> {
    const { pid = 0 } = this.#node;
    const cpuBeforeMs = processTreeCpuMs(pid);
    const startMs = performance.now();
    await ask();
    const moments = await seen();
    await sleep(settleMs);
    const cpuMs = (processTreeCpuMs(pid) - cpuBeforeMs) / count;
    return { startMs, doneMs: moments.map((ms) => ms - startMs), cpuMs };
  }

  async #entries(): Promise<ReadonlyMap<string, readonly TimelineEntry[]>> {
    if (!this.#hasTimeline) return new Map();
    return byPod((await readDiskRing(join(this.#node.rootDir, 'timeline'))).entries);
  }

  #problems(): string {
    return this.#node.log.slice(-4000);
  }
}
