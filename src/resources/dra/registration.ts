/** What happens when a driver of dynamic resources registers and when it goes: the handler of the type DRAPlugin. */
import type { DraDrivers } from './drivers.js';
import { chooseServices } from './services.js';

/** A driver by its own account, as the plugin manager has checked it. */
export interface DraPluginClaim {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

export class DraRegistration {
  readonly #drivers: DraDrivers;

  constructor(drivers: DraDrivers) {
    this.#drivers = drivers;
  }

  refusal({ name, endpoint, versions }: DraPluginClaim): string | undefined {
    const chosen = chooseServices(versions);
    if (chosen.kind === 'chosen') return undefined;
    return `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${chosen.problem}`;
  }

  /** Succeeds even if nobody listens on the endpoint yet. */
  async register(claim: DraPluginClaim): Promise<void> {
    const chosen = chooseServices(claim.versions);
    if (chosen.kind === 'refused') throw new Error(this.refusal(claim));
    const { name: driver, endpoint } = claim;
    this.#drivers.add({ driver, endpoint, prepare: chosen.prepare, health: chosen.health, owner: claim });
  }

  /** Running pods keep their devices; who needs a call of the driver waits until it is back. */
  async deregister(claim: DraPluginClaim): Promise<void> {
    await this.#drivers.remove(claim.name, claim.endpoint, claim);
  }
}
