/** Opens a fleet of one thread: its connections to the API server, and the nodes on them. */
import { kubernetesVersion, version } from '../../agent/version.js';
import { systemClock } from '../../async/index.js';
import { connectKubeApi, type KubeConnection, loadKubeconfig } from '../../kube-client/index.js';
import { kubernetesArchitecture } from '../../node/index.js';
import { quietEvents } from '../api/quiet-events.js';
import { createHollowNodes } from '../fleet/fleet.js';
import type { HollowControl, HollowSettings } from './contracts.js';

const heartbeatMs = 10_000;

/** Throws a KubeconfigError for a file that cannot be used. */
export async function openFleet(
  settings: HollowSettings,
  onProblem: (nodeName: string, message: string) => void,
): Promise<HollowControl> {
  const access = await loadKubeconfig(settings.kubeconfig, settings.context);
  const connect = (): KubeConnection =>
    connectKubeApi({
      clock: systemClock,
      access,
      userAgent: `kubelet/${kubernetesVersion} (linux/${kubernetesArchitecture(process.arch)}) nodelet/${version} hollow`,
      onProblem: (message) => onProblem('', message),
    });
  const connection = connect();
  // Leases wait behind nothing else: a node whose lease is late is given up by its cluster.
  const heartbeats = connect();
  const { callsPerSecond: qps, recordsEvents, kubeletApi, ...shared } = settings;
  const api = connection.client(qps === undefined ? {} : { rate: { qps, burst: qps * 2 } });
  const fleet = createHollowNodes({
    ...shared,
    ...(kubeletApi === undefined ? {} : { kubeletApi }),
    api,
    heartbeatApi: heartbeats.client({ timeoutMs: heartbeatMs }),
    eventsApi: recordsEvents ? api : quietEvents(api),
    onProblem,
  });
  return {
    add: async (nodes) => fleet.add(nodes),
    act: async (action, names, keepsNodes) =>
      action === 'remove' ? fleet.remove(names, { keepsNodes }) : fleet[action](names),
    report: async () => ({ nodes: fleet.list(), watches: fleet.watches() }),
    async stop(deletesNodes) {
      try {
        return await fleet.stop({ deletesNodes });
      } finally {
        connection.close();
        heartbeats.close();
      }
    },
  };
}
