/** Follows the CSIDriver objects of the cluster. */
import type { Clock } from '../../../async/index.js';
import { errorText } from '../../../async/index.js';
import { type CsiDriver, Informer, type KubeApi, resources } from '../../../kube-client/index.js';
import type { Timeline } from '../../../timeline/index.js';
import { type DriverPolicies, type DriverPolicy, policyWithoutObject } from '../driver-policy.js';

export interface ApiDriverPoliciesOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random?: (() => number) | undefined;
}

export class ApiDriverPolicies implements DriverPolicies {
  readonly #informer: Informer<CsiDriver>;
  readonly #listeners = new Set<() => void>();

  constructor({ api, clock, timeline, random }: ApiDriverPoliciesOptions) {
    let isFailing = false;
    this.#informer = new Informer({
      api,
      clock,
      ...(random === undefined ? {} : { random }),
      resource: resources.csiDrivers,
      onUpdate: () => {
        for (const listener of this.#listeners) listener();
      },
      onProblem: (error) => {
        if (isFailing) return;
        isFailing = true;
        const message = `the CSI drivers cannot be read from the API: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'objects.watch', message, level: 'warn' });
      },
      onRecovered: () => {
        isFailing = false;
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  get(driver: string): DriverPolicy | undefined {
    if (!this.#informer.hasSynced) return undefined;
    const object = this.#informer.get({ name: driver });
    return object === undefined ? policyWithoutObject : policyOf(object);
  }

  /** Calls back when a policy may have changed; returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export function policyOf({ spec }: CsiDriver): DriverPolicy {
  return {
    exists: true,
    attachRequired: spec.attachRequired ?? true,
    podInfoOnMount: spec.podInfoOnMount ?? false,
    volumeLifecycleModes: spec.volumeLifecycleModes ?? ['Persistent'],
    fsGroupPolicy: spec.fsGroupPolicy ?? '',
    tokenRequests: spec.tokenRequests ?? [],
    tokensInSecrets: spec.serviceAccountTokenInSecrets ?? false,
    requiresRepublish: spec.requiresRepublish ?? false,
    seLinuxMount: spec.seLinuxMount ?? false,
    nodeAllocatableUpdatePeriodSeconds: spec.nodeAllocatableUpdatePeriodSeconds,
  };
}
