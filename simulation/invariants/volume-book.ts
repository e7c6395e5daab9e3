/** Judges what a CSI driver is asked to do with volumes, and what containers see of them when they start. */
import type { SimContainer, SimObserver } from '../../src/runtimes/sim/index.js';
import { type Storage, volumeOf } from '../world/storage.js';
import type { Report } from './violation.js';

export interface VolumeBookOptions {
  readonly report: Report;
  readonly storage: () => Storage | undefined;
  /** The claim that the container uses. */
  readonly claimOf: (container: SimContainer) => string | undefined;
}

export class VolumeBook implements SimObserver {
  readonly #options: VolumeBookOptions;

  constructor(options: VolumeBookOptions) {
    this.#options = options;
  }

  /** A driver has served a call. */
  served(): void {
    const { storage, report } = this.#options;
    const [violation] = storage()?.violations() ?? [];
    if (violation !== undefined) report('a volume is used as its mode and its driver allow', violation);
  }

  container(container: SimContainer): void {
    const { storage, claimOf, report } = this.#options;
    const found = storage();
    const claim = container.state.kind === 'running' ? claimOf(container) : undefined;
    if (found === undefined || claim === undefined) return;
    const paths = new Set(container.config.mounts.map(({ hostPath }) => hostPath));
    const { uid, name } = container.sandbox.config.metadata ?? {};
    const isThere = found.mounted.some(
      ({ volumeId, path, podUid }) => volumeId === volumeOf(claim) && podUid === uid && paths.has(path),
    );
    if (!isThere)
      report(
        'nothing runs without what it was promised',
        `container ${name}/${container.config.metadata?.name} runs, and the volume of ${claim} is not published for it`,
      );
  }
}

/** All of them are told, in their order. */
export function observers(all: readonly SimObserver[]): SimObserver {
  return {
    container: (container) => {
      for (const each of all) each.container?.(container);
    },
    resources: (container) => {
      for (const each of all) each.resources?.(container);
    },
    signal: (container, signal, timeoutSeconds) => {
      for (const each of all) each.signal?.(container, signal, timeoutSeconds);
    },
    sandbox: (sandbox) => {
      for (const each of all) each.sandbox?.(sandbox);
    },
  };
}
