/** Keeps the conditions of a node without a cluster, so that they tell since when they hold. */
import { sleep } from '../../async/index.js';
import type { Node } from '../../kube/index.js';
import type { RuntimeView } from '../cluster/node-options.js';
import type { NodeEviction } from '../rooms/create-eviction.js';
import type { KubeletSettings } from '../settings.js';
import type { RuntimeName } from '../start-up/runtime-name.js';
import { pressureFacts, readiness, runtimeStatus } from './node-settings.js';

export interface StandaloneObserver {
  /** The node with its conditions now; undefined where the node is not built here. */
  now(): Node | undefined;
  /** Looks as often as a node of a cluster reports its status. */
  run(signal: AbortSignal): Promise<void>;
}

export function standaloneObserver(
  {
    clock,
    config,
    host,
    standaloneNode,
  }: Pick<KubeletSettings, 'clock' | 'config' | 'host' | 'standaloneNode'>,
  {
    check,
    runtimeName,
    eviction,
    shutdownError,
    devices,
  }: {
    readonly check: RuntimeView;
    readonly runtimeName: Pick<RuntimeName, 'current' | 'version'>;
    readonly eviction: Pick<NodeEviction, 'conditions'>;
    readonly shutdownError: () => string | undefined;
    /** Keeps the devices of the node current. */
    readonly devices?: (() => unknown) | undefined;
  },
): StandaloneObserver {
  const now = (): Node | undefined => {
    devices?.();
    return standaloneNode?.observe({
      nowMs: clock.now(),
      runtime: runtimeStatus(check, { name: runtimeName.current, version: runtimeName.version }),
      pressure: pressureFacts(eviction.conditions()),
      readiness: readiness({
        runtime: check,
        shutdownError,
        isCpuQuotaAvailable: host.isCpuQuotaAvailable,
      }),
    });
  };
  return {
    now,
    async run(signal) {
      while (now() !== undefined) await sleep(clock, config.nodeStatusUpdateFrequency, signal);
    },
  };
}
