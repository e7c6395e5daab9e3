/** A simulated node of a simulated cluster: a whole kubelet between a runtime and an API server, on time that the test owns. */
import { SimulatedMachine } from '../../src/host/index.js';
import { isNotFound, resources, SimulatedKubeApi } from '../../src/kube/client/index.js';
import type { Pod } from '../../src/kube/index.js';
import { createClusterKubelet } from '../../src/kubelet/cluster.js';
import { ApiLine } from './api-line.js';
import { Machine } from './machine.js';
import { minute, type Node } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import type { Cut } from './runtime-line.js';
import { startVolumeNode } from './volume-node.js';

/** What outlives kubelets: the machine with its runtime and files, and the API server. */
export class ClusterMachine {
  readonly machine = new Machine({ images: 'any' });
  readonly files = new SimulatedMachine();
  readonly api = new SimulatedKubeApi({ clock: this.machine.time });

  /** Creates a pod that is bound to the node. */
  async create(name: string, shape: PodShape = {}): Promise<Pod> {
    return this.api.create(resources.pods, apiPod(name, shape));
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.api.delete(resources.pods, refOf(name), options);
  }

  async patch(name: string, body: object, subresource?: 'status'): Promise<void> {
    const options = subresource === undefined ? {} : { subresource };
    await this.api.patch(resources.pods, refOf(name), { type: 'strategic', body }, options);
  }

  pod(name: string): Promise<Pod> {
    return this.api.get(resources.pods, refOf(name));
  }

  /** Undefined when the API has no such pod. */
  find(name: string): Promise<Pod | undefined> {
    return this.pod(name).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  async putConfigMap(name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const object = { metadata: { name, namespace: 'default' }, data: { ...data } };
    try {
      await this.api.update(resources.configMaps, object);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.api.create(resources.configMaps, object);
    }
  }
}

export interface ClusterNodeOptions {
  /** Default: a new one. */
  readonly on?: ClusterMachine;
  readonly statics?: readonly Pod[];
  /** The call to the API at which the kubelet dies. */
  readonly apiCut?: Cut;
  readonly seed?: number;
}

export interface ClusterNode {
  readonly on: ClusterMachine;
  readonly node: Node;
  readonly line: ApiLine;
  /** Waits until the API shows a pod as wanted, and returns it. */
  until(what: string, name: string, wanted: (pod: Pod) => boolean, limitMs?: number): Promise<Pod>;
  untilReady(name: string, limitMs?: number): Promise<Pod>;
  untilGone(name: string, limitMs?: number): Promise<void>;
  /** The kubelet's process dies: nothing it does reaches the runtime or the API any more. */
  crash(): Promise<void>;
}

export async function startClusterNode(options: ClusterNodeOptions = {}): Promise<ClusterNode> {
  const { on = new ClusterMachine(), statics = [], apiCut, seed } = options;
  let node: Node | undefined;
  const line = new ApiLine(on.api, { cutAt: apiCut, onCut: () => node?.line.cut() });
  const started = await startVolumeNode({
    machine: on.machine,
    files: on.files,
    sources: ['file'],
    ...(seed === undefined ? {} : { seed }),
    create: (given) =>
      createClusterKubelet(given, {
        apis: { main: line.api, heartbeat: line.api, events: line.api, resetConnections: () => undefined },
        flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
        kubeletVersion: 'v1.36.4',
        network: {
          read: async () => ({ addresses: [], routed: { 4: [], 6: [] } }),
          resolve: async () => [],
        },
      }),
  });
  node = started.node;
  if (line.isCut) node.line.cut();
  node.set(statics, 'file');
  await pastItsStart(node);
  const live = node;
  const poll = async (what: string, isSo: () => Promise<boolean>, limitMs = 2 * minute): Promise<void> => {
    const endMs = live.clock.monotonic() + limitMs;
    while (!(await isSo())) {
      if (live.clock.monotonic() >= endMs) {
        throw new Error(`not within ${limitMs} ms: ${what}\n${live.describe()}`);
      }
      await live.advance(pollMs);
    }
  };
  const until: ClusterNode['until'] = async (what, name, wanted, limitMs) => {
    let pod: Pod | undefined;
    await poll(
      `${name} ${what}`,
      async () => {
        pod = await on.find(name);
        return pod !== undefined && wanted(pod);
      },
      limitMs,
    );
    if (pod === undefined) throw new Error('unreachable: it was found');
    return pod;
  };
  return {
    on,
    node,
    line,
    until,
    untilReady: (name, limitMs) => until('is ready', name, isReady, limitMs),
    untilGone: (name, limitMs) =>
      poll(`${name} is gone`, async () => (await on.find(name)) === undefined, limitMs),
    crash: async () => {
      line.cut();
      await started.crash();
    },
  };
}

const pollMs = 50;

/** Some of the start is on files of the real machine, which take real time; time of the test must not run ahead of it. */
async function pastItsStart(node: Node): Promise<void> {
  const hasChecked = (): boolean =>
    !node.kubelet.blockers().some((text) => text.includes('status check may not'));
  for (let turn = 0; turn < 500 && !hasChecked() && !node.line.isCut; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

function refOf(name: string): { readonly namespace: string; readonly name: string } {
  return { namespace: 'default', name };
}
