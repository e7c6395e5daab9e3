/** Computes a node's whole status, part by part in the order of their dependencies. */
import { clone, formatTimestamp, type Node, type NodeStatus } from '../../kube/index.js';
import { nodeAddresses, providedNodeIpAnnotation } from '../addresses/addresses.js';
import { containerRuntimeVersion } from '../machine/facts.js';
import { nodeResources } from './capacity.js';
import {
  conditionOf,
  diskPressure,
  memoryPressure,
  missingCapacity,
  type NodeEvent,
  pidPressure,
  pressureCondition,
  readinessErrors,
  readyCondition,
  statusEvent,
  withCondition,
} from './conditions.js';
import type { StatusFacts, StatusMemory, StatusOutcome, StatusSettings } from './facts.js';
import { nodeImages } from './images.js';

/** One run over a node: a copy changed step by step, and the events and problems found. */
interface NodeStatusDraft {
  readonly node: Node;
  readonly status: NodeStatus;
  readonly facts: StatusFacts;
  readonly settings: StatusSettings;
  readonly events: NodeEvent[];
  readonly problems: string[];
  memory: StatusMemory;
}

type Setter = (draft: NodeStatusDraft) => void;

export function applySetters(
  given: Node,
  settings: StatusSettings,
  facts: StatusFacts,
  memory: StatusMemory,
): StatusOutcome<Node> {
  const node = clone(given);
  node.status ??= {};
  const draft: NodeStatusDraft = {
    node,
    status: node.status,
    facts,
    settings,
    events: [],
    problems: [],
    memory,
  };
  for (const setter of setters) setter(draft);
  return { node, events: draft.events, problems: draft.problems, memory: draft.memory };
}

const addresses: Setter = ({ node, status, facts, settings, problems }) => {
  const { providedNodeIp, result } = nodeAddresses({
    settings: settings.addresses,
    existing: status.addresses ?? [],
    network: facts.network,
    resolved: facts.resolved,
  });
  if (providedNodeIp !== undefined) {
    node.metadata.annotations = {
      ...node.metadata.annotations,
      [providedNodeIpAnnotation]: providedNodeIp,
    };
  } else if (node.metadata.annotations !== undefined) {
    delete node.metadata.annotations[providedNodeIpAnnotation];
  }
  if (result.kind === 'addresses') status.addresses = [...result.addresses];
  else problems.push(result.message);
};

const machineInfo: Setter = (draft) => {
  const { status, facts, settings } = draft;
  const { machine, devices } = facts;
  const existing = {
    ...(status.capacity === undefined ? {} : { capacity: status.capacity }),
    ...(status.allocatable === undefined ? {} : { allocatable: status.allocatable }),
  };
  const resources = nodeResources({ settings: settings.capacity, machine, devices, existing });
  status.capacity = resources.capacity;
  status.allocatable = resources.allocatable;
  const info = nodeInfo(status);
  if (machine === undefined) return;
  if (info.bootID !== '' && info.bootID !== machine.bootId && !draft.memory.rebootTold) {
    const message = `Node ${settings.addresses.nodeName} has been rebooted, boot id: ${machine.bootId}`;
    draft.events.push({ type: 'Warning', reason: 'Rebooted', message });
    draft.memory = { ...draft.memory, rebootTold: true };
  }
  info.machineID = machine.machineId;
  info.systemUUID = machine.systemUuid;
  info.bootID = machine.bootId;
  if (machine.swapBytes > 0) info.swap = { capacity: machine.swapBytes };
};

const versions: Setter = ({ status, facts, settings }) => {
  const info = nodeInfo(status);
  info.kernelVersion = facts.platform.kernelVersion;
  info.osImage = facts.platform.osImage;
  info.containerRuntimeVersion = containerRuntimeVersion(facts.runtime.name, facts.runtime.version);
  info.kubeletVersion = settings.kubeletVersion;
  info.kubeProxyVersion = '';
};

const daemonEndpoints: Setter = ({ status, settings }) => {
  status.daemonEndpoints = { kubeletEndpoint: { Port: settings.port } };
};

const images: Setter = ({ status, facts, settings }) => {
  status.images = nodeImages(facts.images, settings.maxImages);
};

const platform: Setter = ({ status, facts, settings }) => {
  const info = nodeInfo(status);
  info.operatingSystem = 'linux';
  info.architecture = facts.platform.architecture;
  if (settings.runningInUserNamespace === undefined) delete info.runningInUserNamespace;
  else info.runningInUserNamespace = settings.runningInUserNamespace;
};

const runtimeHandlers: Setter = ({ status, facts }) => {
  const sorted = [...facts.runtime.handlers].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  status.runtimeHandlers = sorted.map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
    // The default handler has no name.
    ...(name === '' ? {} : { name }),
    features: { recursiveReadOnlyMounts, userNamespaces },
  }));
};

const runtimeFeatures: Setter = ({ status, facts }) => {
  const features = facts.runtime.features;
  if (features === undefined) return;
  status.features = { ...status.features, supplementalGroupsPolicy: features.supplementalGroupsPolicy };
};

const conditions: Setter = ({ status, facts, settings, events }) => {
  const now = formatTimestamp(facts.nowMs);
  const { nodeName } = settings.addresses;
  let list = status.conditions ?? [];
  for (const [texts, isUnderPressure] of [
    [memoryPressure, facts.pressure.memory],
    [diskPressure, facts.pressure.disk],
    [pidPressure, facts.pressure.pid],
  ] as const) {
    const outcome = pressureCondition(texts, isUnderPressure, conditionOf(list, texts.type), now);
    list = withCondition(list, outcome.condition);
    if (outcome.event !== undefined) events.push(statusEvent(nodeName, outcome.event));
  }
  const missing = missingCapacity(status.capacity ?? {}, settings.capacity.localStorageCapacityIsolation);
  const ready = readyCondition(
    readinessErrors(facts.readiness, missing),
    facts.readiness.softRequirementFailed,
    conditionOf(list, 'Ready'),
    now,
  );
  status.conditions = withCondition(list, ready.condition);
  if (ready.event !== undefined) events.push(statusEvent(nodeName, ready.event));
};

const volumesInUse: Setter = ({ status, facts }) => {
  if (facts.volumesInUse !== undefined) status.volumesInUse = [...new Set(facts.volumesInUse)].sort();
};

const schedulability: Setter = (draft) => {
  const unschedulable = draft.node.spec?.unschedulable ?? false;
  if (unschedulable === draft.memory.unschedulable) return;
  draft.memory = { ...draft.memory, unschedulable };
  const reason = unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable';
  draft.events.push(statusEvent(draft.settings.addresses.nodeName, reason));
};

const declaredFeatures: Setter = ({ status, settings, facts }) => {
  if (settings.declaredFeatures === undefined) return;
  const ofRuntime = (settings.declaredWithRuntime ?? [])
    .filter(({ part }) => facts.runtime.features?.[part] === true)
    .map(({ feature }) => feature);
  status.declaredFeatures = [...settings.declaredFeatures, ...ofRuntime].sort();
};

const setters: readonly Setter[] = [
  addresses,
  machineInfo,
  versions,
  daemonEndpoints,
  images,
  platform,
  runtimeHandlers,
  runtimeFeatures,
  conditions,
  volumesInUse,
  schedulability,
  declaredFeatures,
];

function nodeInfo(status: NodeStatus): NonNullable<NodeStatus['nodeInfo']> {
  status.nodeInfo ??= {
    machineID: '',
    systemUUID: '',
    bootID: '',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: '',
    architecture: '',
  };
  return status.nodeInfo;
}
