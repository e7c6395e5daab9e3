/** Whole kubelets of a cluster on simulated machines and runtimes, and pods for them: what the bench measures. */
import type { Clock } from '../../src/async/index.js';
import { type SimulatedHost, simulatedHost } from '../../src/host/index.js';
import { applyPodDefaults, type Pod, type PodManifest } from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import {
  type ClusterOptions,
  createClusterKubelet,
} from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import type { Kubelet, PodVolumes } from '../../src/kubelet/index.js';
import { withoutVolumes } from '../../src/kubelet/ports.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import { SimRuntime } from '../../src/runtimes/sim/index.js';

export interface HollowNode {
  readonly name: string;
  readonly kubelet: Kubelet;
  readonly api: SimulatedKubeApi;
  readonly runtime: SimRuntime;
}

/** So many nodes share a simulated API; its watchers look at each other's changes, which are nobody's cost here. */
const nodesPerApi = 10;

const hostFacts = {
  memoryCapacityBytes: 64 * 1024 ** 3,
  swapCapacityBytes: 0,
  isSwapControllerAvailable: false,
  hugePageSizes: [],
  cgroupVersion: 2,
  isCpuQuotaAvailable: true,
  thermalThrottlePaths: [],
  isSelinuxEnabled: false,
  isAppArmorEnabled: false,
} as const;

const network: ClusterOptions['network'] = {
  read: async () => ({
    addresses: [{ address: '192.0.2.10', interface: 'eth0', isLoopbackInterface: false }],
    routed: { 4: ['192.0.2.10'], 6: [] },
  }),
  resolve: async () => ['192.0.2.10'],
};

/** Volumes that are there as soon as a pod wants them. */
const volumes: PodVolumes = { ...withoutVolumes, waitForMounts: async () => {} };

/** The machine that all nodes look at: kubelets without pod directories leave nothing on it. */
async function sharedMachine(): Promise<SimulatedHost> {
  const host = simulatedHost({ rememberedCalls: 0 });
  const { files } = host;
  for (const directory of ['/sys/devices/system/cpu', '/proc/sys/kernel/random', '/etc'])
    await files.mkdir(directory, { recursive: true });
  await files.writeFile('/proc/meminfo', 'MemTotal: 67108864 kB\nSwapTotal: 0 kB\n');
  await files.writeFile('/sys/devices/system/cpu/online', '0-15\n');
  await files.writeFile('/etc/machine-id', '0123456789abcdef0123456789abcdef\n');
  await files.writeFile('/proc/sys/kernel/random/boot_id', '01234567-89ab-cdef-0123-456789abcdef\n');
  return host;
}

export class HollowNodes {
  readonly nodes: HollowNode[] = [];
  readonly apis: SimulatedKubeApi[] = [];
  readonly #clock: Clock;
  readonly #rememberedCalls: number;
  #machine: SimulatedHost | undefined;
  #stopped = false;

  constructor(clock: Clock, rememberedCalls = 0) {
    this.#clock = clock;
    this.#rememberedCalls = rememberedCalls;
  }

  async open(
    count: number,
    settings: { readonly networkReady: boolean } = { networkReady: true },
  ): Promise<void> {
    const clock = this.#clock;
    this.#machine ??= await sharedMachine();
    for (let made = 0; made < count; made++) {
      if (this.nodes.length % nodesPerApi === 0)
        this.apis.push(new SimulatedKubeApi({ clock, rememberedCalls: this.#rememberedCalls }));
      const api = this.apis.at(-1);
      if (api === undefined) throw new Error('there is no API yet');
      const name = `hollow-${this.nodes.length}`;
      const runtime = new SimRuntime({ clock, seed: name });
      if (!settings.networkReady) runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady');
      const kubelet = await createClusterKubelet(
        {
          nodeName: name,
          runtime,
          rootDir: '/',
          clock,
          machine: this.#machine,
          host: hostFacts,
          podConfigs: filelessPodConfigs,
          podDirectories: false,
          volumes,
          config: { imageGCHighThresholdPercent: 100, resolvConf: '' },
        },
        {
          apis: { main: api, heartbeat: api, events: api, resetConnections: () => undefined },
          flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
          kubeletVersion: 'v1.37.1',
          network,
        },
      );
      void kubelet.start().then((error) => {
        if (!this.#stopped) throw error;
      });
      this.nodes.push({ name, kubelet, api, runtime });
    }
  }

  /** Creates pods that are bound to their nodes already. */
  async createPods(each: number): Promise<void> {
    for (const node of this.nodes) {
      for (let index = 0; index < each; index++) {
        const { metadata, spec } = applyPodDefaults(manifest(`${node.name}-${index}`));
        await node.api.create(resources.pods, {
          metadata: { ...metadata, namespace: 'default' },
          spec: { ...spec, nodeName: node.name },
        });
      }
    }
  }

  async pods(): Promise<readonly Pod[]> {
    const lists = await Promise.all(this.apis.map((api) => api.list(resources.pods)));
    return lists.flatMap(({ items }) => items);
  }

  async events(): Promise<readonly object[]> {
    const lists = await Promise.all(this.apis.map((api) => api.list(resources.events)));
    return lists.flatMap(({ items }) => items);
  }

  async readyNodes(): Promise<number> {
    const lists = await Promise.all(this.apis.map((api) => api.list(resources.nodes)));
    return lists
      .flatMap(({ items }) => items)
      .filter(({ status }) =>
        status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      ).length;
  }

  /** Old versions of objects are the API's history. */
  forgetHistory(): void {
    for (const api of this.apis) api.compact();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.nodes.map(({ kubelet }) => kubelet.stop()));
  }
}

/** What a pod of a Deployment looks like: labels, an owner, resources, environment, and the token of its account. */
function manifest(name: string): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { app: 'web', 'pod-template-hash': '5d8f7c9b4' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web-5d8f7c9b4',
          uid: `rs-${name}`,
          controller: true,
        },
      ],
    },
    spec: {
      serviceAccountName: 'default',
      containers: [
        {
          name: 'web',
          image: 'web:1',
          env: [
            { name: 'MODE', value: 'production' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          ports: [{ containerPort: 8080, protocol: 'TCP' }],
          resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
          volumeMounts: [
            {
              name: 'kube-api-access',
              mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
              readOnly: true,
            },
          ],
        },
      ],
      volumes: [
        {
          name: 'kube-api-access',
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            ],
          },
        },
      ],
      tolerations: [
        {
          key: 'node.kubernetes.io/not-ready',
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        },
        {
          key: 'node.kubernetes.io/unreachable',
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        },
      ],
    },
  };
}
