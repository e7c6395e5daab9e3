/** Formats the answer of `nodelet describe node` for people. */

import { formatAge } from '../../kube/values/age.js';
import type {
  DescribedHolder,
  DescribedPod,
  DescribedResource,
  NodeDescription,
  NodePressure,
} from '../../kubelet/index.js';
import { cleanText } from './clean-text.js';
import { amountOf, amountText } from './resource-amount.js';
import { formatTable } from './table.js';
import { boundedTable, podText, amountText as signalAmount } from './what-if-text.js';

export interface NodeTextOptions {
  /** How many lines of each list are shown. */
  readonly most: number;
  readonly nowMs: number;
}

export function nodeText(node: NodeDescription, { most, nowMs }: NodeTextOptions): string {
  return [
    headText(node),
    conditionsText(node, nowMs),
    pressureText(node.pressure),
    resourcesText(node.resources),
    podsText(node, most),
    holdingsText(node.holdings, most),
  ].join('\n');
}

function headText({ name, system, addresses, labels, taints }: NodeDescription): string {
  const { kubeletVersion, containerRuntimeVersion, osImage, kernelVersion, architecture } = system;
  const several = (texts: readonly string[]): readonly string[] => (texts.length === 0 ? ['none'] : texts);
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ['Node', [name]],
    ['Kubelet', [kubeletVersion || 'unknown']],
    ['Runtime', [containerRuntimeVersion || 'unknown']],
    ['System', [[osImage, kernelVersion, architecture].filter((part) => part !== '').join(', ')]],
    ['Addresses', several(addresses.map(({ type, address }) => `${address} (${type})`))],
    ['Labels', several(Object.entries(labels).map(([key, value]) => `${key}=${value}`))],
    [
      'Taints',
      several(taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`)),
    ],
  ];
  return formatTable(
    undefined,
    lines.flatMap(([title, texts]) =>
      texts.map((text, at) => [at === 0 ? `${title}:` : '', cleanText(text)]),
    ),
  );
}

function conditionsText({ conditions }: NodeDescription, nowMs: number): string {
  if (conditions.length === 0) return 'Conditions: not known yet\n';
  const rows = conditions.map(({ type, status, lastTransitionTime, reason = '', message = '' }) => {
    const sinceMs = Date.parse(lastTransitionTime ?? '');
    const since = Number.isNaN(sinceMs) ? '-' : formatAge(Math.max(0, nowMs - sinceMs));
    return [type, status, since, reason, message].map(cleanText);
  });
  return `Conditions:\n${formatTable(['CONDITION', 'STATUS', 'SINCE', 'REASON', 'MESSAGE'], rows)}`;
}

function pressureText({ off, problem, signals }: NodePressure): string {
  const head = [
    ...(off === undefined ? [] : [`This node evicts no pods: ${off}.`]),
    ...(problem === undefined ? [] : [`The signals cannot be read now: ${problem}.`]),
  ].map((line) => `${cleanText(line)}\n`);
  if (signals.length === 0) return `Pressure:\n${head.join('') || 'No signal is watched.\n'}`;
  const rows = signals.map(({ signal, unit, available, capacity, thresholds }) => {
    const amount = (value: number | undefined): string =>
      value === undefined ? 'unknown' : signalAmount(value, unit);
    const limits = thresholds.map(({ kind, value, gracePeriod, met }) => {
      const patience = kind === 'soft' ? ` for ${gracePeriod}` : '';
      return `${kind} ${amount(value)}${patience}${met ? ', MET' : ''}`;
    });
    return [signal, amount(available), amount(capacity), limits.join('; ')].map(cleanText);
  });
  return `Pressure:\n${head.join('')}${formatTable(['SIGNAL', 'AVAILABLE', 'OF', 'THRESHOLDS'], rows)}`;
}

/** A column: its title, its cell, and whether it is left out where it says nothing of any resource. */
interface ResourceColumn {
  readonly title: string;
  readonly cell: (resource: DescribedResource) => string;
  readonly isOptional?: true;
}

const amount =
  (field: Exclude<keyof DescribedResource, 'name'>) =>
  (resource: DescribedResource): string =>
    amountText(resource.name, resource[field]);

const resourceColumns: readonly ResourceColumn[] = [
  { title: 'RESOURCE', cell: ({ name }) => name },
  { title: 'CAPACITY', cell: amount('capacity') },
  { title: 'SYSTEM', cell: amount('systemReserved') },
  { title: 'KUBE', cell: amount('kubeReserved') },
  { title: 'EVICTION', cell: amount('evictionReserved') },
  { title: 'HUGE PAGES', cell: amount('inHugePages'), isOptional: true },
  { title: 'ALLOCATABLE', cell: amount('allocatable') },
  { title: 'REQUESTED', cell: (resource) => shareText(resource, 'requested') },
  { title: 'LIMITS', cell: (resource) => shareText(resource, 'limits') },
  { title: 'FREE', cell: amount('free') },
];

function resourcesText(resources: readonly DescribedResource[]): string {
  if (resources.length === 0) return 'Resources: not known yet\n';
  const columns = resourceColumns.filter(
    ({ cell, isOptional }) => isOptional !== true || resources.some((resource) => cell(resource) !== '0'),
  );
  const rows = resources
    .filter(isWorthALine)
    .map((resource) => columns.map(({ cell }) => cleanText(cell(resource))));
  const header = columns.map(({ title }) => title);
  return `Resources (SYSTEM, KUBE and EVICTION are reserved; pods share ALLOCATABLE):\n${formatTable(header, rows)}`;
}

/** Every kernel has sizes of huge pages that nobody has set aside. */
function isWorthALine({ name, capacity, requested }: DescribedResource): boolean {
  return !name.startsWith('hugepages-') || amountOf(capacity) > 0 || amountOf(requested) > 0;
}

/** The amount and its part of what pods can have. */
function shareText(resource: DescribedResource, field: 'requested' | 'limits'): string {
  const text = amountText(resource.name, resource[field]);
  const [part, whole] = [amountOf(resource[field]), amountOf(resource.allocatable)];
  return part === 0 || whole <= 0 ? text : `${text} (${Math.round((100 * part) / whole)}%)`;
}

const ownColumns = ['cpu', 'memory', 'ephemeral-storage'] as const;

function podsText({ pods }: NodeDescription, most: number): string {
  if (pods.items.length === 0) return 'Pods: none\n';
  const header = ['POD', 'QOS', 'PRIORITY', ...ownColumns.map((name) => name.toUpperCase()), 'OTHERS'];
  return `Pods (requests / limits):\n${boundedTable(header, pods, most, podCells)}`;
}

function podCells(pod: DescribedPod): readonly string[] {
  const both = (name: string): string => {
    const side = (list: DescribedPod['requests']): string =>
      list[name] === undefined ? '-' : amountText(name, list[name]);
    return `${side(pod.requests)} / ${side(pod.limits)}`;
  };
  const others = [...new Set([...Object.keys(pod.requests), ...Object.keys(pod.limits)])]
    .filter((name) => !ownColumns.some((own) => own === name))
    .sort()
    .map((name) => `${name} ${both(name)}`);
  return [
    podText(pod),
    pod.qosClass,
    String(pod.priority),
    ...ownColumns.map(both),
    others.length === 0 ? '-' : others.join(', '),
  ];
}

function holdingsText({ sharedCpus, holders }: NodeDescription['holdings'], most: number): string {
  const shared =
    sharedCpus === undefined
      ? ''
      : `CPUs that all other containers share: ${cleanText(sharedCpus || 'none')}\n`;
  if (holders.items.length === 0) return `Held by one container alone: nothing\n${shared}`;
  const header = ['POD', 'CONTAINER', 'CPUS', 'MEMORY', 'DEVICES'];
  return `Held by one container alone:\n${boundedTable(header, holders, most, holderCells)}${shared}`;
}

function holderCells(holder: DescribedHolder): readonly string[] {
  const { container, cpus, memory = [], devices = [] } = holder;
  const memories = memory.map(
    ({ resource, numaNodes, bytes }) =>
      `${resource === 'memory' ? '' : `${resource} `}${signalAmount(bytes, 'bytes')} of NUMA ${numaNodes.join(',')}`,
  );
  const held = devices.map(({ resource, ids }) => `${resource}: ${ids.join(' ')}`);
  const cell = (texts: readonly string[]): string => (texts.length === 0 ? '-' : texts.join('; '));
  return [podText(holder), container || '(the pod)', cpus ?? '-', cell(memories), cell(held)];
}
