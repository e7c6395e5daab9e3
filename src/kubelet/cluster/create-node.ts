/** The node as the cluster sees it: builds its registration, status and lease from the parts that know about it. */
import { uptime } from 'node:os';
import type { TaskGroup } from '../../async/index.js';
import type { RuntimeFeatures, RuntimeHandler } from '../../cri/index.js';
import type { Node, NodeAddress } from '../../kube/index.js';
import { Informer, type KubeApi, resources } from '../../kube-client/index.js';
import {
  applySetters,
  type DeviceResources,
  freshMemory,
  initialNode,
  LeaseRenewer,
  machineCapacity,
  machineNetwork,
  type NetworkReader,
  NodeStatusReporter,
  noDevices,
  nodeReservation,
  PodCidr,
  parseNodeIps,
  type ReadinessFacts,
  type RegistrationSettings,
  RuntimeFacts,
  readMachineFacts,
  readPlatformFacts,
  registerNode,
  reservationProblem,
  type StatusFacts,
  StatusObserver,
  type StatusSettings,
  startUpMetrics,
} from '../../node/index.js';
import type { KubeletContext } from '../settings.js';

/** What the command line says of the node. */
export interface NodeFlags {
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** As `--node-ip` was written; empty for none. */
  readonly nodeIp: string;
  readonly externalCloud: boolean;
  readonly ignoreEvictionReservation?: boolean;
}

/** The API as the node uses it; left out on a node without one. */
export interface NodeApi {
  readonly heartbeat: KubeApi;
  readonly main: KubeApi;
  /** The server may be dead behind a connection that is not. */
  resetConnections(): void;
}

/** Who knows the state of the runtime; `RuntimeCheck` does. */
export interface RuntimeView {
  readonly networkError: string | undefined;
  readonly handlers: readonly RuntimeHandler[];
  readonly features?: RuntimeFeatures | undefined;
  errors(): readonly string[];
  checkOnce(): Promise<void>;
}

export interface NodePartsOptions {
  readonly flags: NodeFlags;
  readonly kubeletVersion: string;
  readonly runtime: RuntimeView;
  readonly api?: NodeApi;
  /** Features that are really there, of those that schedulers ask for. */
  readonly declaredFeatures?: readonly string[];
  readonly pressure?: () => StatusFacts['pressure'];
  readonly devices?: () => DeviceResources;
  /** Whether devices of earlier runs are known; without a device manager they are not. */
  readonly devicesKnown?: () => boolean;
  readonly storageError?: () => string | undefined;
  readonly shutdownError?: () => string | undefined;
  readonly volumesInUse?: () => readonly string[] | undefined;
  readonly onVolumesReported?: (names: readonly string[]) => void;
  readonly onAddresses?: (addresses: readonly NodeAddress[]) => void;
  readonly onReady?: () => void;
  /** The network that the node's addresses come from; the machine's own by default. */
  readonly network?: NetworkReader;
  /** Wall milliseconds at which the process started. */
  readonly processStartMs?: number;
}

export interface NodeParts {
  /** The cluster's object of this node as it changes; undefined without an API. */
  readonly informer: Informer<Node> | undefined;
  /** The node as last heard of, or as it would be registered. */
  node(): Promise<Node>;
  /** The same, without waiting; undefined before the first of either. */
  readonly known: Node | undefined;
  /** Starts registration, status and lease; without an API only what is told of the node locally. */
  start(tasks: TaskGroup): void;
  /** Reports at once, as on a shutdown of the machine. */
  sync(signal: AbortSignal): Promise<void>;
}

const noPressure: StatusFacts['pressure'] = { memory: false, disk: false, pid: false };

export async function createNodeParts(
  context: KubeletContext,
  options: NodePartsOptions,
): Promise<NodeParts> {
  const { nodeName, config, gates, clock, timeline, random, machine, cri, registry } = context;
  const { api, runtime, flags } = options;
  const nodeIps = parseNodeIps(flags.nodeIp);
  if (nodeIps.kind === 'invalid') throw new Error(nodeIps.message);
  for (const item of nodeIps.dropped) {
    timeline.record({ kind: 'problem', what: 'node.ip', message: `${item} of --node-ip is no IP address` });
  }
  const platform = await readPlatformFacts(machine.files, machine.kernelRelease);
  const machineFacts = await readMachineFacts({ files: machine.files, rootDir: context.rootDir }).catch(
    (error: unknown) => {
      timeline.record({
        kind: 'problem',
        what: 'node.machine',
        message: 'the machine cannot be read',
        error,
      });
      return undefined;
    },
  );
  const settings: StatusSettings = {
    addresses: { nodeName, nodeIps: nodeIps.ips, externalCloud: flags.externalCloud },
    capacity: {
      systemReserved: config.systemReserved,
      kubeReserved: config.kubeReserved,
      evictionHard: config.evictionHard,
      ignoreEviction: flags.ignoreEvictionReservation ?? false,
      maxPods: config.maxPods,
      podsPerCore: config.podsPerCore,
      localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    },
    kubeletVersion: options.kubeletVersion,
    port: config.port,
    maxImages: config.nodeStatusMaxImages,
    declaredFeatures: gates.enabled('NodeDeclaredFeatures') ? (options.declaredFeatures ?? []) : undefined,
  };
  const capacity = machineCapacity(settings.capacity, machineFacts);
  const problem = machineFacts && reservationProblem(capacity, nodeReservation(settings.capacity, capacity));
  if (problem !== undefined) throw new Error(problem);
  const registration: RegistrationSettings = {
    nodeName,
    architecture: platform.architecture,
    nodeLabels: flags.nodeLabels,
    taints: config.registerWithTaints,
    externalCloud: flags.externalCloud,
    controllerAttachDetach: config.enableControllerAttachDetach,
    providerId: config.providerID,
  };
  const facts = new RuntimeFacts({ runtime: cri, clock, timeline });
  const observer = new StatusObserver(
    clock,
    {
      machine: machineFacts,
      platform,
      network: options.network ?? machineNetwork(machine.files),
      devices: options.devices ?? (() => noDevices),
      runtime: async () => ({
        ...(await facts.version()),
        handlers: runtime.handlers.map(({ name, features }) => ({
          name,
          recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
          userNamespaces: features?.userNamespaces ?? false,
        })),
        features: runtime.features,
      }),
      images: async () => facts.images,
      pressure: options.pressure ?? (() => noPressure),
      readiness: () => readiness(options),
      volumesInUse: options.volumesInUse ?? (() => undefined),
    },
    settings.addresses,
  );
  const podCidr = new PodCidr({ runtime: cri, timeline });
  let local: Node | undefined;
  const buildLocal = async (): Promise<Node> => {
    const built = applySetters(initialNode(registration), settings, await observer.observe(), freshMemory);
    local = built.node;
    return built.node;
  };
  if (api === undefined) {
    return {
      informer: undefined,
      node: async () => local ?? (await buildLocal()),
      get known() {
        return local;
      },
      start: (tasks) => {
        tasks.start(
          'the pod range of the configuration',
          async () => void (await podCidr.set(config.podCIDR)),
        );
      },
      sync: async () => void (await buildLocal()),
    };
  }

  const nowMs = clock.now();
  const startUp = startUpMetrics(registry, {
    machineStartMs: nowMs - uptime() * 1000,
    kubeletStartMs: options.processStartMs ?? nowMs,
  });
  const { heartbeat, main } = api;
  const informer = new Informer<Node>({
    api: main,
    clock,
    random,
    resource: resources.nodes,
    fieldSelector: `metadata.name=${nodeName}`,
    onUpdate: () => {
      // Others may have made it.
      if (informer.get({ name: nodeName }) !== undefined) lease.nodeRegistered();
    },
  });
  const reporter = new NodeStatusReporter({
    api: heartbeat,
    clock,
    timeline,
    random,
    nodeName,
    settings,
    updateFrequencyMs: config.nodeStatusUpdateFrequency,
    reportFrequencyMs: config.nodeStatusReportFrequency,
    cachedNode: () => informer.get({ name: nodeName }),
    observe: () => observer.observe(),
    checkRuntime: () => runtime.checkOnce(),
    podCidr,
    ...(config.registerNode
      ? {
          register: (fill, signal) => {
            const build = (): Promise<Node> => {
              startUp.registering(clock.now());
              return fill(initialNode(registration));
            };
            return registerNode(
              {
                api: main,
                clock,
                timeline,
                nodeName,
                build,
                resetExtendedResources: () => !(options.devicesKnown?.() ?? false),
                getOnExistsOnly: gates.enabled('KubeletRegistrationGetOnExistsOnly'),
              },
              signal,
            );
          },
        }
      : {}),
    onRegistered: ({ created }) => {
      startUp.registered(clock.now(), created);
      lease.nodeRegistered();
    },
    onFirstReady: () => {
      startUp.ready(clock.now());
      options.onReady?.();
    },
    onRepeatedFailure: () => api.resetConnections(),
    ...(options.onVolumesReported === undefined ? {} : { onVolumesReported: options.onVolumesReported }),
    ...(options.onAddresses === undefined ? {} : { onAddresses: options.onAddresses }),
  });
  const lease = new LeaseRenewer({
    api: heartbeat,
    clock,
    timeline,
    random,
    nodeName,
    durationSeconds: config.nodeLeaseDurationSeconds,
    onRepeatedFailure: () => api.resetConnections(),
  });
  return {
    informer,
    node: async () => reporter.node ?? local ?? (await buildLocal()),
    get known() {
      return reporter.node ?? local;
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

function readiness({ runtime, storageError, shutdownError }: NodePartsOptions): ReadinessFacts {
  return {
    runtimeErrors: runtime.errors(),
    networkError: runtime.networkError,
    storageError: storageError?.(),
    shutdownError: shutdownError?.(),
    softRequirementFailed: false,
  };
}
