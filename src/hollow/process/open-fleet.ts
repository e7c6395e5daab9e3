/** Opens a fleet of one thread: its connections to the API server, and the nodes on them. */
import { kubernetesVersion, version } from '../../agent/version.js';
import { systemClock } from '../../async/index.js';
import { connectKubeApi, loadKubeconfig } from '../../kube-client/index.js';
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
  const connection = connectKubeApi({
    clock: systemClock,
    access: await loadKubeconfig(settings.kubeconfig, settings.context),
    userAgent: `kubelet/${kubernetesVersion} (linux/${kubernetesArchitecture(process.arch)}) nodelet/${version} hollow`,
    onProblem: (message) => onProblem('', message),
  });
  const { callsPerSecond: qps, recordsEvents, ...shared } = settings;
  const rate = qps === undefined ? {} : { rate: { qps, burst: qps * 2 } };
  const api = connection.client(rate);
  const fleet = createHollowNodes({
    ...shared,
    ...(shared.kubeletApi === undefined ? {} : { kubeletApi: shared.kubeletApi }),
    api,
    heartbeatApi: connection.client({ timeoutMs: heartbeatMs }),
    eventsApi: recordsEvents ? connection.client(rate) : quietEvents(api),
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
      }
    },
  };
}
