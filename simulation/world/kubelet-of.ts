/** A whole kubelet of a cluster for one process of a simulated node. */
import { Channel } from '../../src/async/index.js';
import { simulatedHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { KubeApi } from '../../src/kube-client/index.js';
import { createClusterKubelet } from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import type { Kubelet, KubeletOptions } from '../../src/kubelet/index.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import { criEvents } from '../../src/runtime-manager/pleg/index.js';
import { Timeline, type TimelineEntry } from '../../src/timeline/index.js';
import { nodeName } from '../../test/sim/node-name.js';
import { seededRandom } from '../../test/sim/seeded-random.js';
import type { NodeDraft } from '../plan/step.js';
import { type ApiWitness, apiPort } from '../ports/api-port.js';
import { type CriWitness, criPort } from '../ports/cri-port.js';
import { type CsiPort, csiPort } from '../ports/csi-port.js';
import { devicePort } from '../ports/device-port.js';
import type { Director } from '../ports/director.js';
import { aroundHost, observedThrough } from '../ports/host-port.js';
import type { KubeletProcess } from '../ports/process.js';
import { deviceDirectory, rootDir } from './machine-files.js';
import type { SimulatedNode } from './simulated-node.js';

export interface KubeletParts {
  readonly node: SimulatedNode;
  readonly draft: NodeDraft;
  readonly process: KubeletProcess;
  readonly director: Director;
  readonly seed: number;
  readonly onEntry: (entry: TimelineEntry) => void;
  readonly apiWitness: ApiWitness;
  readonly criWitness: CriWitness;
  /** Told after each call that the CSI driver served. */
  readonly csiWitness: () => void;
}

export interface StartedKubelet {
  readonly kubelet: Kubelet;
  /** Gives the static pods of the node to the kubelet. */
  setStatics(pods: readonly Pod[]): void;
}

const hostFacts = {
  memoryCapacityBytes: 16 * 1024 ** 3,
  swapCapacityBytes: 0,
  isSwapControllerAvailable: false,
  hugePageSizes: [],
  cgroupVersion: 2,
  isCpuQuotaAvailable: true,
  thermalThrottlePaths: [],
  isSelinuxEnabled: false,
  isAppArmorEnabled: false,
} as const;

function csiOptions({ call, openPluginSocket }: CsiPort): Pick<KubeletOptions, 'csi' | 'openPluginSocket'> {
  return { csi: { call }, openPluginSocket };
}

export async function createSimulatedKubelet(parts: KubeletParts): Promise<StartedKubelet> {
  const { node, draft, process, director, seed } = parts;
  const { clock } = process;
  const timeline = new Timeline({ clock, goneBytes: 64 * 1024 });
  timeline.subscribe(parts.onEntry);
  const statics = new Channel<readonly Pod[]>(1000);
  // That of the host that is made next.
  const processId = node.files.startProcess() + 1;
  process.ended.addEventListener('abort', () => node.files.endProcess(processId), { once: true });
  const port = (target: KubeApi): KubeApi => apiPort(target, process, director, parts.apiWitness);
  const main = port(node.api);
  const { devicePlugin, storage, load } = node;
  const kubelet = await createClusterKubelet(
    {
      nodeName,
      runtime: criPort(node.runtime, process, director, parts.criWitness),
      // As the client of a real one does.
      runtimeEndsCalls: true,
      rootDir,
      clock,
      timeline,
      host: hostFacts,
      machine: simulatedHost({
        machine: node.files,
        rememberedCalls: 0,
        around: aroundHost(process, director),
      }),
      keyring: { lookup: async () => [] },
      random: seededRandom(seed),
      startsAtOnce: draft.startsAtOnce,
      ...(devicePlugin === undefined
        ? {}
        : { devicePlugins: { directory: deviceDirectory, ...devicePort(devicePlugin, process, director) } }),
      ...(storage === undefined ? {} : csiOptions(csiPort(storage.driver, process, parts.csiWitness))),
      ...(load === undefined ? {} : { eviction: { stats: observedThrough(load.stats, process) } }),
      eventSources: draft.events ? [criEvents] : [],
      podConfigs: (volumes) => ({
        ...filelessPodConfigs,
        async container(request) {
          const mounts = await volumes.mounts(request.pod, request.container, {
            subPath: () => '',
            imageOf: () => undefined,
            runtimeHandler: '',
          });
          const built = await filelessPodConfigs.container(request);
          return {
            ...built,
            config: { ...built.config, mounts: [...(built.config.mounts ?? []), ...mounts] },
          };
        },
      }),
      config: {
        maxPods: 200,
        imageGCHighThresholdPercent: 100,
        resolvConf: '',
        podLogsDir: '',
        ...(draft.eviction
          ? { evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '15%' } }
          : {}),
        ...(draft.cpuManager ? { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } } : {}),
      },
      sources: [
        {
          name: 'file',
          create: ({ deliver }) => ({
            run: async (signal) => {
              for (;;) {
                const next = await statics.receive(signal);
                if (next.done) return;
                await deliver({ source: 'file', pods: next.value }, signal);
              }
            },
          }),
        },
      ],
    },
    {
      apis: { main, heartbeat: main, events: port(node.events), resetConnections: () => undefined },
      flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
      kubeletVersion: 'v1.37.1',
      network: {
        read: async () => ({ addresses: [], routed: { 4: [], 6: [] } }),
        resolve: async () => [],
      },
    },
  );
  return { kubelet, setStatics: (pods) => void statics.trySend(pods) };
}
