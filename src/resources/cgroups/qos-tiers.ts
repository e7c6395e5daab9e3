/** Keeps the cgroups that pods of one QoS class share at what their active pods request. */

import { errorText } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { createMemoryQosMetrics, type MemoryQosMetrics } from '../metrics.js';
import type { CgroupControl } from './control.js';
import { gapText } from './hierarchy.js';
import { type CgroupName, plainName } from './names.js';
import type { CgroupNames } from './pod-names.js';
import { planTiers, raiseToUsage, type Tier, type TierPlan, type TierSettings, tierDemand } from './tiers.js';
import type { CgroupValues } from './values.js';

export interface QosTiersOptions {
  readonly control: CgroupControl;
  readonly names: CgroupNames;
  readonly settings: TierSettings;
  readonly activePods: () => readonly Pod[];
  /** Times a change. */
  readonly update: (name: CgroupName, values: CgroupValues) => Promise<void>;
  /** Told what active pods request, each time it is applied. Default: metrics that nobody reads. */
  readonly metrics?: MemoryQosMetrics | undefined;
}

const tiers: readonly Tier[] = ['pods', 'burstable', 'bestEffort'];
const shownNames = { burstable: 'Burstable', bestEffort: 'BestEffort' } as const;

export class QosTiers {
  readonly #options: QosTiersOptions;
  readonly #metrics: MemoryQosMetrics;
  /** What each tier was last given, so that nothing is written twice in vain. */
  readonly #written = new Map<Tier, string>();
  #isFirst = true;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: QosTiersOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createMemoryQosMetrics();
  }

  /** Makes the tiers below the cgroup of all pods, which must be there; an update follows. */
  async start(): Promise<void> {
    const { control, names } = this.#options;
    const gap = control.gap(names.pods);
    if (gap !== undefined)
      throw new Error(
        `error validating root container ${plainName(names.pods)} : ${gapText(names.pods, gap)}`,
      );
    const plan = planTiers(tierDemand([]), { version: control.version }, false);
    for (const tier of ['burstable', 'bestEffort'] as const) {
      const isNew = control.gap(names[tier]) !== undefined;
      const values = tier === 'burstable' ? { hugePages: plan.burstable.hugePages } : plan.bestEffort;
      try {
        // One that is there may be what a killed agent left of a new one.
        await control.create(names[tier], values);
        // The first update writes the values of a new one, and reports if it cannot.
        if (!isNew) await this.#options.update(names[tier], values);
      } catch (error) {
        const action = isNew ? 'create' : 'update';
        throw new Error(
          `failed to initialize top level QOS containers: failed to ${action} top level ${shownNames[tier]} QOS cgroup : ${errorText(error)}`,
          { cause: error },
        );
      }
    }
  }

  /** Applies what active pods request now; one at a time, and callers that come meanwhile share the next. */
  update(): Promise<void> {
    this.#next ??= this.#running
      .catch(() => {
        // Its callers were told.
      })
      .then(() => {
        this.#next = undefined;
        this.#running = this.#apply();
        return this.#running;
      });
    return this.#next;
  }

  /** The same, and puts right what someone else changed or removed. */
  async restore(): Promise<void> {
    const { control, names } = this.#options;
    for (const tier of tiers) {
      if (control.gap(names[tier]) !== undefined)
        await control.create(names[tier], { hugePages: 'unlimited' });
    }
    this.#written.clear();
    await this.update();
  }

  async #apply(): Promise<void> {
    const { activePods, settings } = this.#options;
    const demand = tierDemand(activePods());
    const plan = planTiers(demand, settings, this.#isFirst);
    this.#metrics.minBytes.set(demand.guaranteedMemoryBytes);
    this.#metrics.lowBytes.set(demand.burstableMemoryBytes);
    try {
      await this.#write(plan);
    } catch (error) {
      if (settings.withheldMemory === undefined) throw error;
      // The limits may be below what is used already.
      await this.#write(raiseToUsage(plan, this.#usage()));
    }
    this.#isFirst = false;
  }

  async #write(plan: TierPlan): Promise<void> {
    const { names, update } = this.#options;
    for (const tier of tiers) {
      const key = keyOf(plan[tier]);
      if (this.#written.get(tier) === key) continue;
      this.#written.delete(tier);
      await update(names[tier], plan[tier]);
      this.#written.set(tier, key);
    }
  }

  #usage(): Record<Tier, number> {
    const { control, names } = this.#options;
    const of = (tier: Tier): number => control.read(names[tier]).memoryUsageBytes;
    return { pods: 0, burstable: of('burstable'), bestEffort: of('bestEffort') };
  }
}

function keyOf({ cpuShares, memoryLimitBytes, unified }: CgroupValues): string {
  return JSON.stringify([cpuShares, memoryLimitBytes, unified]);
}
