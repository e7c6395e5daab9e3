/** A node of a simulated cluster on which pods of all kinds come and go, to see what stays behind of them. */
import { Channel, VirtualClock } from '../../src/async/index.js';
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type { Container, KubeObject, Pod } from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { type Resource, resources, type UnpostedObject } from '../../src/kube-client/index.js';
import { createClusterKubelet } from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import type { Kubelet } from '../../src/kubelet/index.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import { criEvents } from '../../src/runtime-manager/pleg/index.js';
import { SimRuntime } from '../../src/runtimes/sim/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { nodeName } from './node-name.js';
import { apiPod, type PodShape, staticPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

const probe = { exec: { command: ['true'] }, periodSeconds: 2 };
const app: Container = { name: 'app', image: 'app:1' };

/** The kinds of pods, in turn. Each pod has its own config map and secret where its kind names them. */
const shapes: readonly ((name: string) => PodShape)[] = [
  () => ({ containers: [{ ...app, readinessProbe: probe, livenessProbe: probe }], sim: { log: 'hello' } }),
  () => ({
    init: ['first'],
    sim: { 'first.run-time': '500ms', 'run-time': '1s' },
    spec: { restartPolicy: 'Never' },
  }),
  () => ({ sim: { 'run-time': '500ms', 'exit-code': '1' } }),
  (name) => ({
    containers: [
      {
        ...app,
        envFrom: [{ configMapRef: { name } }],
        volumeMounts: [
          { name: 'maps', mountPath: '/maps' },
          { name: 'secrets', mountPath: '/secrets' },
          { name: 'token', mountPath: '/token' },
          { name: 'scratch', mountPath: '/scratch' },
        ],
      },
    ],
    spec: {
      serviceAccountName: 'default',
      volumes: [
        { name: 'maps', configMap: { name } },
        { name: 'secrets', secret: { secretName: name } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
        { name: 'scratch', emptyDir: {} },
      ],
    },
  }),
  (name) => ({ containers: [{ ...app, image: `missing-${name}:1` }] }),
  () => ({ sim: { 'run-time': '1s', 'exit-code': '3' }, spec: { restartPolicy: 'Never' } }),
  () => ({ spec: { nodeSelector: { nowhere: 'yes' } } }),
  () => ({ sim: { 'start-error': 'no such file' } }),
  (name) => ({ spec: { volumes: [{ name: 'maps', configMap: { name: `none-${name}` } }] } }),
  () => ({
    containers: [
      { ...app, startupProbe: probe, lifecycle: { preStop: { exec: { command: ['true'] } } } },
      'other',
    ],
    init: [{ name: 'side', image: 'app:1', restartPolicy: 'Always' }],
  }),
];

const secondMs = 1_000;
const minuteMs = 60_000;
const lifeMs = 2_500;

/** Takes events and keeps none: a real API drops them after an hour, and they are not the node's. */
class EventsNowhere extends SimulatedKubeApi {
  override async create<T extends KubeObject>(_: Resource<T>, object: UnpostedObject<T>): Promise<T> {
    // Nobody reads what a real server would have added.
    return object as unknown as T;
  }
}

export class ChurningNode {
  readonly clock = new VirtualClock();
  readonly api = new SimulatedKubeApi({ clock: this.clock, rememberedCalls: 100 });
  readonly runtime = new SimRuntime({ clock: this.clock, images: [{ name: 'app:1', present: true }] });
  readonly #statics = new Channel<readonly Pod[]>(10);
  readonly #create: typeof createClusterKubelet;
  #kubelet: Kubelet | undefined;
  #made = 0;

  /** `create` makes the kubelet; default: one that nobody records. */
  constructor(create: typeof createClusterKubelet = createClusterKubelet) {
    this.#create = create;
  }

  /** How many pods came so far. */
  get made(): number {
    return this.#made;
  }

  get kubelet(): Kubelet {
    if (this.#kubelet === undefined) throw new Error('the node is not started');
    return this.#kubelet;
  }

  async start(): Promise<void> {
    const { api, clock } = this;
    await api.create(resources.serviceAccounts, { metadata: { name: 'default', namespace: 'default' } });
    this.#kubelet = await this.#create(
      {
        nodeName,
        runtime: this.runtime,
        rootDir: '/nonexistent/kubelet',
        clock,
        // The entries of the last pods that are gone have a budget, which has tests of its own. A small one is soon full.
        timeline: new Timeline({ clock, goneBytes: 16 * 1024 }),
        machine: simulatedHost({ machine: new SimulatedMachine(), rememberedCalls: 100 }),
        keyring: { lookup: async () => [] },
        random: seededRandom(1),
        startsAtOnce: 8,
        eventSources: [criEvents],
        podConfigs: (volumes) => ({
          ...filelessPodConfigs,
          async container(request) {
            await volumes.mounts(request.pod, request.container, {
              subPath: () => '',
              imageOf: () => undefined,
              runtimeHandler: '',
            });
            return filelessPodConfigs.container(request);
          },
        }),
        config: { maxPods: 1000, imageGCHighThresholdPercent: 100, resolvConf: '', podLogsDir: '' },
        sources: [
          {
            name: 'file',
            create: ({ deliver }) => ({
              run: async (signal) => {
                for (;;) {
                  const next = await this.#statics.receive(signal);
                  if (next.done) return;
                  await deliver({ source: 'file', pods: next.value }, signal);
                }
              },
            }),
          },
        ],
      },
      {
        apis: {
          main: api,
          heartbeat: api,
          events: new EventsNowhere({ clock, rememberedCalls: 100 }),
          resetConnections: () => undefined,
        },
        flags: { nodeLabels: {}, nodeIp: '', externalCloud: false },
        kubeletVersion: 'v1.37.1',
        network: { read: async () => ({ addresses: [], routed: { 4: [], 6: [] } }), resolve: async () => [] },
      },
    );
    void this.kubelet.start();
    this.#statics.trySend([]);
    // The start reads some files of the real machine, which takes real time.
    while (this.kubelet.blockers().some((text) => text.includes('status check may not')))
      await new Promise((resolve) => setTimeout(resolve, 2));
  }

  /** Lets this many pods come, live for a while and go, and with them the objects that they name. */
  async churn(count: number): Promise<void> {
    const { api } = this;
    const names = Array.from({ length: count }, () => `p${this.#made++}`);
    const statics = names.filter((_, index) => index % 20 === 19);
    for (const [index, name] of names.entries()) {
      if (index % 20 === 19) continue;
      const shape = shapes[index % shapes.length]?.(name) ?? {};
      const { metadata, spec } = apiPod(name, { graceSeconds: 1, ...shape });
      const { uid: _, ...rest } = metadata;
      if (spec.volumes?.some(({ secret }) => secret !== undefined)) {
        const own = { name, namespace: 'default' };
        await api.create(resources.configMaps, { metadata: own, data: { key: name } });
        await api.create(resources.secrets, { metadata: own, data: { key: 'eA==' } });
      }
      await api.create(resources.pods, { metadata: rest, spec });
    }
    this.#statics.trySend(statics.map((name) => staticPod(name, { graceSeconds: 1 })));
    await this.clock.advance(lifeMs);
    this.#statics.trySend([]);
    for (const pod of (await api.list(resources.pods)).items) {
      const { name, annotations = {} } = pod.metadata;
      if ('kubernetes.io/config.mirror' in annotations) continue;
      await api.delete(resources.pods, { namespace: 'default', name });
    }
    this.kubelet.registry.text();
    await this.#untilGone();
    for (const resource of [resources.configMaps, resources.secrets])
      for (const { metadata } of (await api.list(resource)).items)
        await api.delete(resource, { namespace: 'default', name: metadata.name ?? '' });
    api.compact();
  }

  /** Waits until all is forgotten that the node keeps for a time only. */
  async rest(): Promise<void> {
    await this.clock.advance(20 * minuteMs);
    // The recorder of events forgets pods that are gone when it writes the next event.
    await this.churn(shapes.length);
    await this.clock.advance(5 * minuteMs);
    const { sandboxes, containers } = this.runtime.size;
    if (sandboxes + containers > 0)
      throw new Error(`${sandboxes} sandboxes, ${containers} containers are left`);
  }

  /** Fails when a timer outlives the node. */
  async stop(): Promise<void> {
    await this.kubelet.stop();
    await this.runtime.close();
    const { pendingTimers } = this.clock;
    if (pendingTimers > 0) throw new Error(`${pendingTimers} timers are left`);
  }

  /** Sandboxes may still be there: the node collects them once a minute. */
  async #untilGone(): Promise<void> {
    for (let waited = 0; waited < 60; waited++) {
      const { items } = await this.api.list(resources.pods, { metadataOnly: true });
      if (items.length === 0 && this.kubelet.pods().length === 0) return;
      await this.clock.advance(secondMs);
    }
    throw new Error(`pods are left: ${this.kubelet.pods().map(({ metadata }) => metadata.name)}`);
  }
}
