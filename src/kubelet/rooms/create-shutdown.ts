/** Builds the graceful shutdown of the node from what the kubelet knows of its pods; nothing where it is not configured. */
import { join } from 'node:path';
import type { Pod } from '../../kube/index.js';
import {
  createShutdownMetrics,
  parseShutdownState,
  type ShutdownGroup,
  ShutdownManager,
  shutdownGroups,
  shutdownStateName,
  shutdownStateText,
} from '../../node/index.js';
import { applyKiller, killPodAndWait, type PodWorkers } from '../../pods/index.js';
import type { AdmissionHandler } from '../admission/admission.js';
import type { Link } from '../link.js';
import type { PodVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';

export type ShutdownSettings = Pick<
  KubeletSettings,
  'config' | 'gates' | 'clock' | 'timeline' | 'registry' | 'nodeName' | 'rootDir' | 'durable' | 'logind'
>;

export interface ShutdownDeps {
  readonly workers: Link<PodWorkers>;
  readonly volumes: Pick<PodVolumes, 'waitForUnmounts'>;
  /** Pods that may run, static and critical ones included. */
  readonly activePods: () => readonly Pod[];
  readonly reportNode: (signal: AbortSignal) => Promise<void>;
}

export interface NodeShutdown {
  readonly start: StartManager;
  /** Refuses pods while the machine shuts down. */
  readonly admission: AdmissionHandler;
  /** Why the node is not ready; undefined while it is not shutting down. */
  error(): string | undefined;
}

/** None where the configuration or a gate asks for no delay of a shutdown. */
export function configuredGroups({
  config,
  gates,
}: Pick<KubeletSettings, 'config' | 'gates'>): readonly ShutdownGroup[] {
  if (!gates.enabled('GracefulNodeShutdown')) return [];
  return shutdownGroups({
    shutdownGracePeriod: config.shutdownGracePeriod,
    shutdownGracePeriodCriticalPods: config.shutdownGracePeriodCriticalPods,
    shutdownGracePeriodByPodPriority: gates.enabled('GracefulNodeShutdownBasedOnPodPriority')
      ? config.shutdownGracePeriodByPodPriority
      : [],
  });
}

export function createShutdown(settings: ShutdownSettings, deps: ShutdownDeps): NodeShutdown | undefined {
  const { config, gates, clock, timeline, durable, logind } = settings;
  const metrics = createShutdownMetrics(settings.registry);
  const groups = configuredGroups({ config, gates });
  if (groups.length === 0 || logind === undefined) return undefined;
  const statePath = join(settings.rootDir, shutdownStateName);
  const manager = new ShutdownManager({
    ...settings,
    metrics,
    logind,
    groups,
    pods: {
      active: deps.activePods,
      kill: (pod, graceSeconds, signal) =>
        killPodAndWait({ clock, timeline, workers: deps.workers.target, signal }, pod, {
          evict: false,
          graceOverrideSeconds: graceSeconds,
          statusOverride: (status) =>
            void Object.assign(status, applyKiller(pod, status, { by: 'shutdown' }, clock.now())),
        }),
      waitForUnmounts: (pod, signal) => deps.volumes.waitForUnmounts(pod, signal),
    },
    state: {
      read: async () => {
        const found = await durable.read(statePath, parseShutdownState);
        return found.kind === 'found' ? found.value : { startMs: undefined, endMs: undefined };
      },
      write: (times) => durable.write(statePath, shutdownStateText(times), { mode: 0o644 }),
    },
    writeFile: (path, text) => durable.write(path, text, { mode: 0o644, directoryMode: 0o755 }),
    reportNode: deps.reportNode,
  });
  return {
    start: async (tasks) => tasks.start('the graceful shutdown of the node', (signal) => manager.run(signal)),
    admission: {
      name: 'node shutdown',
      admit: () =>
        manager.isShuttingDown
          ? {
              admit: false,
              reason: 'NodeShutdown',
              message: 'Pod was rejected as the node is shutting down.',
            }
          : { admit: true },
    },
    error: () => (manager.isShuttingDown ? 'node is shutting down' : undefined),
  };
}
