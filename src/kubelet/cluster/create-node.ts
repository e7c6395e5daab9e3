/** Builds the node as the cluster sees it: registration, status and lease from the rooms that know about it. */
import { uptime } from 'node:os';
import type { Node } from '../../kube/index.js';
import { Informer, resources } from '../../kube-client/index.js';
import {
  applySetters,
  createStartUpMetrics,
  type DeviceResources,
  freshMemory,
  initialNode,
  LeaseRenewer,
  machineNetwork,
  NodeStatusReporter,
  type NodeStatusReporterOptions,
  noDevices,
  PodCidr,
  type RegistrationSettings,
  RuntimeFacts,
  registerNode,
  StartUpStages,
  type StatusFacts,
  StatusObserver,
  type StatusSettings,
  systemInterfaces,
} from '../../node/index.js';
import { nodeOfBasis, readNodeBasis } from '../node/node-basis.js';
import { readiness, runtimeStatus } from '../node/node-settings.js';
import { LocalNode } from './local-node.js';
import type { ClusterNode, NodeApi, NodeOptions, NodeSettings } from './node-options.js';

const noPressure: StatusFacts['pressure'] = { memory: false, disk: false, pid: false };

/** Throws when the command line or the reservations make no node of this machine. */
export async function createNode(settings: NodeSettings, options: NodeOptions): Promise<ClusterNode> {
  const { clock, timeline, machine, cri, outside } = settings;
  const { runtime, network } = options;
  const basis = await readNodeBasis(settings, options);
  const { platform, status, registration } = basis;
  const devices = options.devices ?? ((): DeviceResources => noDevices);
  const facts = new RuntimeFacts({ runtime: cri, clock, timeline });
  const observer = new StatusObserver(
    clock,
    {
      machine: basis.machine,
      platform,
      network:
        network === undefined
          ? machineNetwork(
              machine.files,
              outside.port('interfaces', () => systemInterfaces),
            )
          : outside.port('node network', () => network),
      devices,
      runtime: async () => runtimeStatus(runtime, await facts.version()),
      images: async () => facts.images,
      pressure: options.pressure ?? (() => noPressure),
      readiness: () => readiness(options),
      volumesInUse: options.volumesInUse ?? (() => undefined),
    },
    status.addresses,
  );
  const podCidr = new PodCidr({ runtime: cri, timeline });
  const local = new LocalNode(
    async () => applySetters(initialNode(registration), status, await observer.observe(), freshMemory).node,
  );
  const atFirst = nodeOfBasis(basis, devices());
  return apiNode(settings, options, { status, registration, facts, observer, podCidr, local, atFirst });
}

interface NodeKnowledge {
  readonly status: StatusSettings;
  readonly registration: RegistrationSettings;
  readonly facts: RuntimeFacts;
  readonly observer: StatusObserver;
  readonly podCidr: PodCidr;
  readonly local: LocalNode;
  readonly atFirst: Node;
}

function apiNode(
  settings: NodeSettings,
  options: NodeOptions,
  { status, registration, facts, observer, podCidr, local, atFirst }: NodeKnowledge,
): ClusterNode {
  const { nodeName, config, clock, timeline, random, registry, outside } = settings;
  const { api, runtime } = options;
  const nowMs = clock.now();
  const startUp = new StartUpStages(createStartUpMetrics(registry), {
    machineStartMs: nowMs - outside.port('uptime', () => ({ seconds: uptime })).seconds() * 1000,
    kubeletStartMs: options.processStartMs ?? nowMs,
  });
  const lease = new LeaseRenewer({
    api: api.heartbeat,
    clock,
    timeline,
    random,
    nodeName,
    durationSeconds: config.nodeLeaseDurationSeconds,
    onRepeatedFailure: () => api.resetConnections(),
  });
  const informer = new Informer<Node>({
    api: api.main,
    clock,
    random,
    resource: resources.nodes,
    fieldSelector: `metadata.name=${nodeName}`,
    onUpdate: () => {
      // Others may have made it.
      if (informer.get({ name: nodeName }) !== undefined) lease.nodeRegistered();
      options.onNode?.();
    },
  });
  const build = (fill: (node: Node) => Promise<Node>) => (): Promise<Node> => {
    startUp.registering(clock.now());
    return fill(initialNode(registration));
  };
  const reporter = new NodeStatusReporter({
    api: api.heartbeat,
    clock,
    timeline,
    random,
    nodeName,
    settings: status,
    updateFrequencyMs: config.nodeStatusUpdateFrequency,
    reportFrequencyMs: config.nodeStatusReportFrequency,
    cachedNode: () => informer.get({ name: nodeName }),
    observe: () => observer.observe(),
    checkRuntime: () => runtime.checkOnce(),
    readiness: () => readiness(options),
    podCidr,
    register: config.registerNode ? registrar(settings, options, build) : undefined,
    onRegistered: ({ created }) => {
      startUp.registered(clock.now(), created);
      lease.nodeRegistered();
    },
    onFirstReady: () => {
      startUp.ready(clock.now());
      options.onReady?.();
    },
    onRepeatedFailure: () => api.resetConnections(),
    onVolumesReported: options.onVolumesReported,
    onAddresses: options.onAddresses,
  });
  return {
    informer,
    atFirst,
    node: async () => reporter.node ?? (await local.get()),
    get known() {
      return reporter.node ?? local.known;
    },
    start: (tasks) => {
      tasks.start('the node informer', (signal) => informer.run(signal));
      tasks.start('the list of images', (signal) => facts.run(signal));
      tasks.start('node status', (signal) => reporter.run(signal));
      tasks.start('the first node status', (signal) => reporter.runFast(signal));
      tasks.start('the node lease', (signal) => lease.run(signal));
    },
    sync: (signal) => reporter.sync(signal),
  };
}

function registrar(
  { clock, timeline, nodeName, gates }: Pick<NodeSettings, 'clock' | 'timeline' | 'nodeName' | 'gates'>,
  { api, devicesKnown }: Pick<NodeOptions, 'devicesKnown'> & { readonly api: NodeApi },
  build: (fill: (node: Node) => Promise<Node>) => () => Promise<Node>,
): NonNullable<NodeStatusReporterOptions['register']> {
  return (fill, signal) =>
    registerNode(
      {
        api: api.main,
        clock,
        timeline,
        nodeName,
        build: build(fill),
        resetExtendedResources: () => !(devicesKnown?.() ?? false),
        getOnExistsOnly: gates.enabled('KubeletRegistrationGetOnExistsOnly'),
      },
      signal,
    );
}
