/** How full the machine of a simulated node is: what its pods use, and what the plan adds. */
import type { VirtualClock } from '../../src/async/index.js';
import type { EvictionStats } from '../../src/resources/eviction/index.js';
import { gi, mi, NodeLoad } from '../../test/sim/node-load.js';
import type { OpenRuntime } from './simulated-node.js';

/** Under the reference kubelet's own thresholds. */
const memoryThreshold = 100 * mi;
const diskShare = 0.15;
/** What the rest of the machine takes at rest. */
const calm = { memory: gi, disk: 10 * gi };

export class Load {
  readonly #load: NodeLoad;

  constructor(runtime: OpenRuntime, clock: VirtualClock) {
    const named = () =>
      runtime.allContainers.map(({ sandbox, state }) => ({
        podName: sandbox.config.metadata?.name ?? '',
        podUid: sandbox.config.metadata?.uid ?? '',
        isRunning: state.kind === 'running',
      }));
    this.#load = new NodeLoad({
      time: clock,
      images: runtime.images,
      running: () => named().filter(({ isRunning }) => isRunning),
      seenContainers: (podName) =>
        named().filter((each) => podName === undefined || each.podName === podName),
    });
    this.becomeCalm();
  }

  get stats(): EvictionStats {
    return this.#load.stats;
  }

  /** Each pod uses the same, whatever it asks for. */
  add(podName: string): void {
    this.#load.pods.set(podName, { memory: 128 * mi, disk: 3 * gi });
  }

  press(what: 'memory' | 'disk'): void {
    const load = this.#load;
    // So much that the end of one pod may be enough.
    if (what === 'memory') load.systemMemory += Math.max(load.memoryAvailable - memoryThreshold + mi, 0);
    else load.systemDisk += Math.max(load.diskAvailable - load.diskBytes * diskShare + mi, 0);
  }

  becomeCalm(): void {
    this.#load.systemMemory = calm.memory;
    this.#load.systemDisk = calm.disk;
  }

  /** Whether the kubelet saw at one of its last looks that the node had too little. */
  get wasSeenPressed(): boolean {
    return this.#load.looks
      .slice(-2)
      .some(
        ({ memoryAvailable, diskAvailable }) =>
          memoryAvailable < memoryThreshold || diskAvailable < this.#load.diskBytes * diskShare,
      );
  }
}
