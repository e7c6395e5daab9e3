/** Collects the inputs of a status at the moment it is computed. */
import { type Clock, TimedOut, withTimeout } from '../../async/index.js';
import { type AddressSettings, needsLookup } from '../addresses/addresses.js';
import type { NetworkReader } from '../addresses/network.js';
import type { MachineInfo, PlatformFacts } from '../machine/facts.js';
import type { DeviceResources } from './capacity.js';
import type { StatusFacts } from './facts.js';
import type { KnownImage } from './images.js';

/** The parts of a kubelet that contribute to its node's status. */
export interface StatusSources {
  readonly machine: MachineInfo | undefined;
  readonly platform: PlatformFacts;
  readonly network: NetworkReader;
  devices(): DeviceResources;
  runtime(): Promise<StatusFacts['runtime']>;
  images(): Promise<readonly KnownImage[]>;
  pressure(): StatusFacts['pressure'];
  readiness(): StatusFacts['readiness'];
  volumesInUse(): readonly string[] | undefined;
}

/** How long the resolved addresses of the node's name are cached while the network is unchanged. */
const resolvedForMs = 60_000;
const lookupLimitMs = 5_000;

export class StatusObserver {
  readonly #clock: Clock;
  readonly #sources: StatusSources;
  readonly #addresses: AddressSettings;
  #resolved: { readonly network: string; readonly atMs: number; readonly ips: readonly string[] } | undefined;

  constructor(clock: Clock, sources: StatusSources, addresses: AddressSettings) {
    this.#clock = clock;
    this.#sources = sources;
    this.#addresses = addresses;
  }

  async observe(): Promise<StatusFacts> {
    const sources = this.#sources;
    const [network, runtime, images] = await Promise.all([
      sources.network.read(),
      sources.runtime(),
      sources.images(),
    ]);
    const resolved = await this.#resolve(JSON.stringify(network));
    return {
      nowMs: this.#clock.now(),
      network,
      resolved,
      machine: sources.machine,
      platform: sources.platform,
      devices: sources.devices(),
      runtime,
      images,
      pressure: sources.pressure(),
      readiness: sources.readiness(),
      volumesInUse: sources.volumesInUse(),
    };
  }

  async #resolve(network: string): Promise<readonly string[]> {
    if (!needsLookup(this.#addresses)) return [];
    const nowMs = this.#clock.monotonic();
    const known = this.#resolved;
    if (known !== undefined && known.network === network && nowMs - known.atMs < resolvedForMs)
      return known.ips;
    const { network: reader } = this.#sources;
    const ips = await withTimeout(this.#clock, lookupLimitMs, undefined, () =>
      reader.resolve(this.#addresses.nodeName),
    ).catch((error: unknown) => {
      // A dead name server must not keep the node from being ready; the default route decides instead.
      if (error instanceof TimedOut) return [];
      throw error;
    });
    this.#resolved = { network, atMs: nowMs, ips };
    return ips;
  }
}
