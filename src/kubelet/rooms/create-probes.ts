/** Builds the probes of a kubelet and what others see of them: statuses, plans and the sync loop. */
import type { Channel } from '../../async/index.js';
import type { PodStatus } from '../../kube/index.js';
import { type NativeBuckets, Registry } from '../../metrics/index.js';
import type { ProbeView } from '../../pods/index.js';
import {
  createProbeMetrics,
  type ProbeKind,
  ProbeManager,
  Prober,
  type ProbeUpdate,
} from '../../probes/index.js';
import { expand } from '../../runtime-manager/config/index.js';
import type { ProbeVerdicts } from '../../runtime-manager/index.js';
import type { PodProbes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';

export interface Probes {
  readonly workers: PodProbes;
  /** How probes make containers started and ready. */
  readonly view: ProbeView;
  /** How probes end containers. */
  readonly verdicts: ProbeVerdicts;
  /** Results that changed, for the sync loop. */
  readonly updates: Readonly<Record<ProbeKind, Channel<ProbeUpdate>>>;
  metricsText(): string;
  histograms(): ReadonlyMap<string, NativeBuckets>;
  keepOnly(podUids: ReadonlySet<string>): void;
  stop(): Promise<void>;
}

export function createProbes(
  settings: Pick<KubeletSettings, 'clock' | 'timeline' | 'cri' | 'random' | 'gates' | 'probeNetwork'>,
  { statusOf }: { readonly statusOf: (podUid: string) => PodStatus | undefined },
): Probes {
  const { clock, timeline, cri, random, gates, probeNetwork: network } = settings;
  const protocols = {
    h2c: gates.enabled('H2CContainerProbe'),
    grpcTls: gates.enabled('GRPCContainerProbeTLS'),
  };
  const prober = new Prober({ clock, timeline, cri, network, expand, protocols });
  // Served apart from the other metrics, as there are some for each probe.
  const registry = new Registry({ nativeHistograms: gates.enabled('NativeHistograms') });
  const keepsStatusOverRestart = !gates.enabled('ChangeContainerStatusOnKubeletRestart');
  const manager = new ProbeManager({
    clock,
    timeline,
    random,
    statusOf,
    probe: (run, signal) => prober.run(run, signal),
    metrics: createProbeMetrics(registry),
    keepsStatusOverRestart,
  });
  const { startup, readiness, liveness } = manager.results;
  return {
    workers: manager,
    view: {
      startupResult: (id) => startup.get(id),
      readinessResult: (id) => readiness.get(id),
      livenessResult: (id) => liveness.get(id),
      hasStartupWorker: (podUid, container) => manager.has('startup', podUid, container),
      hasReadinessWorker: (podUid, container) => manager.has('readiness', podUid, container),
      triggerReadiness: (podUid, container) => manager.trigger('readiness', podUid, container),
      ...(keepsStatusOverRestart ? { startedAtMs: manager.startedAtMs } : {}),
    },
    verdicts: { liveness: (id) => liveness.get(id), startup: (id) => startup.get(id) },
    updates: { liveness: liveness.updates, readiness: readiness.updates, startup: startup.updates },
    metricsText: () => registry.text(),
    histograms: () => registry.natives(),
    keepOnly: (podUids) => manager.keepOnly(podUids),
    stop: () => manager.stop(),
  };
}
