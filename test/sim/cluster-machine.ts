/** A machine and an API server that outlive kubelets, and a whole kubelet between them that can die at any call of either. */
import { settle } from '../../src/async/index.js';
import { SimulatedMachine } from '../../src/host/index.js';
import type { ConfigMap, Pod } from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import { createClusterKubelet } from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import { ApiLine } from './api-line.js';
import { Machine } from './machine.js';
import type { Node, NodeOptions } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import type { Cut } from './runtime-line.js';
import { startVolumeNode } from './volume-node.js';

export class ClusterMachine {
  readonly machine = new Machine();
  readonly files = new SimulatedMachine();
  readonly api = new SimulatedKubeApi({ clock: this.machine.time });

  /** Creates a pod that is already bound to the node. */
  async create(name: string, shape: PodShape = {}): Promise<Pod> {
    const { metadata, spec } = apiPod(name, shape);
    const { uid: _, ...rest } = metadata;
    return this.api.create(resources.pods, { metadata: rest, spec });
  }

  async find(name: string): Promise<Pod | undefined> {
    const { items } = await this.api.list(resources.pods);
    return items.find(({ metadata }) => metadata.name === name);
  }

  pod(name: string): Promise<Pod> {
    return this.api.get(resources.pods, { namespace: 'default', name });
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.api.delete(resources.pods, { namespace: 'default', name }, options);
  }

  async patch(name: string, body: object, subresource?: 'status'): Promise<void> {
    const options = subresource === undefined ? {} : { subresource };
    await this.api.patch(
      resources.pods,
      { namespace: 'default', name },
      { type: 'strategic', body },
      options,
    );
  }

  async createConfigMap(name: string, data: Record<string, string>): Promise<void> {
    await this.api.create(resources.configMaps, configMap(name, data));
  }

  async updateConfigMap(name: string, data: Record<string, string>): Promise<void> {
    await this.api.update(resources.configMaps, configMap(name, data));
  }
}

function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { metadata: { name, namespace: 'default' }, data };
}

export interface MemberOptions extends Pick<NodeOptions, 'kubelet' | 'seed' | 'through'> {
  /** Default: a new one. */
  readonly on?: ClusterMachine;
  /** The call of the API at which the kubelet dies. */
  readonly apiCut?: Cut;
  readonly statics?: readonly Pod[];
}

/** Starts a kubelet as a member of the cluster. */
export async function startMember(options: MemberOptions = {}): Promise<Member> {
  const { on = new ClusterMachine(), apiCut, statics = [], ...shared } = options;
  let node: Node | undefined;
  const line = new ApiLine(on.api, { cutAt: apiCut, onCut: () => node?.line.cut() });
  const { api } = line;
  const apis = { main: api, heartbeat: api, events: api, resetConnections: () => undefined };
  const started = await startVolumeNode({
    ...shared,
    machine: on.machine,
    files: on.files,
    sources: ['file'],
    create: (given) =>
      createClusterKubelet(given, {
        apis,
        flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
        kubeletVersion: 'v1.37.1',
        network: { read: async () => ({ addresses: [], routed: { 4: [], 6: [] } }), resolve: async () => [] },
      }),
  });
  node = started.node;
  node.set(statics, 'file');
  // It may have died before there was a line to cut.
  if (line.isCut) node.line.cut();
  await settle();
  await pastItsStart(node);
  return new Member(on, node, line, started.crash, () => started.host.calls.length);
}

/** Some of the start is on files of the real machine, which take real time; the test's time must not run ahead of it. */
async function pastItsStart(node: Node): Promise<void> {
  const hasChecked = (): boolean =>
    !node.kubelet.blockers().some((text) => text.includes('status check may not'));
  for (let turn = 0; turn < 500 && !hasChecked() && !node.line.isCut; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const pollMs = 100;

export class Member {
  constructor(
    readonly on: ClusterMachine,
    readonly node: Node,
    /** Between the kubelet and the API. */
    readonly line: ApiLine,
    readonly endProcess: () => Promise<void>,
    /** How often the kubelet has changed files or mounts. */
    readonly hostChanges: () => number,
  ) {}

  /** Waits until the API shows a pod as wanted. */
  until(what: string, name: string, wanted: (pod: Pod) => boolean, limitMs = 60_000): Promise<Pod> {
    return this.#poll(`${name} ${what}`, limitMs, async () => {
      const pod = await this.on.find(name);
      return pod !== undefined && wanted(pod) ? pod : undefined;
    });
  }

  untilReady(name: string): Promise<Pod> {
    return this.until('is ready', name, isReady);
  }

  async untilGone(name: string, limitMs = 60_000): Promise<void> {
    await this.#poll(`${name} is gone`, limitMs, async () =>
      (await this.on.find(name)) === undefined ? true : undefined,
    );
  }

  /** The kubelet's process dies: nothing it does reaches anybody any more. */
  async crash(): Promise<void> {
    this.line.cut();
    await this.endProcess();
  }

  async #poll<T>(what: string, limitMs: number, look: () => Promise<T | undefined>): Promise<T> {
    for (let waitedMs = 0; waitedMs <= limitMs; waitedMs += pollMs) {
      const found = await look();
      if (found !== undefined) return found;
      await this.node.advance(pollMs);
    }
    const { items } = await this.on.api.list(resources.pods);
    const seen = items.map(({ metadata, status }) => JSON.stringify([metadata, status])).join('\n');
    throw new Error(`not within ${limitMs} ms: ${what}\n${seen}\n${this.node.describe()}`);
  }
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
