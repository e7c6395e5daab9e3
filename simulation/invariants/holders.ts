/** Holds at each start, change and end in the runtime that what only one may have is never in two hands. */
import type { SimContainer, SimObserver, SimSandbox } from '../../src/runtimes/sim/index.js';
import { deviceOf } from '../world/device-plugin.js';
import { short } from './runtime-book.js';
import type { Report } from './violation.js';

/** What a container was promised for itself alone. */
export interface Promised {
  /** CPUs of its own; undefined for those that share. */
  readonly cpus: number | undefined;
  readonly devices: number;
  readonly hostPort: number | undefined;
  /** Users took its pod out of the API without waiting for its end: nobody tells the kubelet of it any more. */
  readonly isForced: boolean;
}

export interface HolderBookOptions {
  readonly report: Report;
  /** Undefined for a container that the kubelet did not make. */
  readonly promised: (container: SimContainer) => Promised | undefined;
}

const rule = 'what only one may have is never held by two';
const without = 'nothing runs without what it was promised';

export class HolderBook implements SimObserver {
  readonly #options: HolderBookOptions;
  /** By what is held: the containers, or sandboxes, by their ids. */
  readonly #holders = new Map<string, Map<string, string>>();
  readonly #held = new Map<string, readonly string[]>();

  constructor(options: HolderBookOptions) {
    this.#options = options;
  }

  container(container: SimContainer): void {
    const { id, state } = container;
    if (state.kind !== 'running') {
      if (this.#held.has(id)) this.#hold(id, '', []);
      return;
    }
    const promised = this.#options.promised(container);
    if (promised === undefined) return;
    const cpus = promised.cpus === undefined ? [] : cpusOf(container);
    const devices = devicesOf(container);
    this.#judgePromise(container, promised, cpus.length, devices.length);
    this.#hold(id, nameOf(container), [
      ...cpus.map((cpu) => `CPU ${cpu}`),
      ...devices.map((device) => `device ${device}`),
      // Whoever is not known any more may hold a port that another one is given, as with the reference kubelet.
      ...(promised.hostPort === undefined || promised.isForced ? [] : [`host port ${promised.hostPort}`]),
    ]);
  }

  resources(container: SimContainer): void {
    if (container.state.kind === 'running') this.container(container);
  }

  sandbox({ id, ready, ip, config }: SimSandbox): void {
    this.#hold(id, config.metadata?.name ?? '', ready && ip !== '' ? [`address ${ip}`] : []);
  }

  #judgePromise(container: SimContainer, promised: Promised, cpus: number, devices: number): void {
    const { report } = this.#options;
    const name = nameOf(container);
    if (promised.cpus !== undefined && cpus !== promised.cpus)
      report(without, `container ${name} runs on ${cpus} CPUs of its own, not ${promised.cpus}`);
    if (devices !== promised.devices)
      report(without, `container ${name} runs with ${devices} devices, not ${promised.devices}`);
  }

  #hold(id: string, name: string, now: readonly string[]): void {
    for (const thing of this.#held.get(id) ?? []) {
      const holders = this.#holders.get(thing);
      holders?.delete(id);
      if (holders?.size === 0) this.#holders.delete(thing);
    }
    if (now.length === 0) this.#held.delete(id);
    else this.#held.set(id, now);
    for (const thing of now) {
      const holders = this.#holders.get(thing) ?? new Map<string, string>();
      this.#holders.set(thing, holders.set(id, name));
      if (holders.size > 1)
        this.#options.report(
          rule,
          `${thing} is held by ${[...holders].map(([holder, of]) => `${of} ${short(holder)}`).join(' and ')}`,
        );
    }
  }

  /** CPUs that one container has for itself, other than this one. */
  exclusiveCpusBeside(id: string): ReadonlySet<number> {
    const cpus = new Set<number>();
    for (const [thing, holders] of this.#holders)
      if (thing.startsWith('CPU ') && !holders.has(id)) cpus.add(Number(thing.slice(4)));
    return cpus;
  }
}

/** Containers that share CPUs and may use one that another container has for itself; some may for a while. */
export function intruders(
  containers: readonly SimContainer[],
  book: HolderBook,
  shares: HolderBookOptions['promised'],
): string[] {
  return containers.flatMap((container) => {
    const promised = shares(container);
    if (promised === undefined || promised.cpus !== undefined) return [];
    // A resize that is refused leaves a container the CPUs that nobody promises it any more.
    const exclusive = book.exclusiveCpusBeside(container.id);
    if (exclusive.size === 0) return [];
    const cpus = cpusOf(container);
    const taken = cpus.length === 0 ? [...exclusive] : cpus.filter((cpu) => exclusive.has(cpu));
    return taken.length === 0
      ? []
      : [`container ${nameOf(container)} may run on the exclusive CPUs ${taken}`];
  });
}

function nameOf({ sandbox, config }: SimContainer): string {
  return `${sandbox.config.metadata?.name}/${config.metadata?.name}`;
}

function devicesOf({ config }: SimContainer): string[] {
  return config.devices.flatMap(({ hostPath }) => deviceOf(hostPath) ?? []);
}

function cpusOf({ resources }: SimContainer): number[] {
  const text = resources?.cpusetCpus ?? '';
  return text.split(',').flatMap((range) => {
    if (range === '') return [];
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
