/** What users are told of an eviction: the message of the pod's status and event, and the annotations of the event. */
import {
  type EvictionThreshold,
  formatQuantity,
  type Pod,
  parseQuantity,
  quantityOf,
  quantityValue,
  thresholdQuantity,
} from '../../kube/index.js';
import type { ContainerStatsSummary, PodStatsSummary } from '../stats/index.js';
import { type SignalReadings, type StarvedResource, signalFacts } from './signals.js';

export interface EvictionText {
  readonly message: string;
  /** Empty for a pod without statistics. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface EvictionTextInput {
  readonly pod: Pod;
  readonly stats: PodStatsSummary | undefined;
  readonly resource: StarvedResource;
  /** All that the pass acts on; the first about the resource is told. */
  readonly act: readonly EvictionThreshold[];
  readonly readings: SignalReadings;
}

interface Offender {
  readonly name: string;
  readonly usedBytes: number;
  readonly request: string;
}

export function evictionText({ pod, stats, resource, act, readings }: EvictionTextInput): EvictionText {
  const offendingPod = stats && podOffender(pod, stats, resource);
  const containers = stats === undefined ? [] : containerOffenders(pod, stats, resource);
  const sentences = [
    `The node was low on resource: ${resource}. `,
    thresholdSentence(resource, act, readings),
    ...(offendingPod === undefined ? [] : [sentence('Pod', offendingPod, resource)]),
    ...containers.map((container) => sentence('Container', container, resource)),
  ];
  const annotations: Record<string, string> = {};
  if (stats !== undefined) {
    annotations.offending_containers = containers.map(({ name }) => name).join(',');
    annotations.offending_containers_usage = containers.map(({ usedBytes }) => bytes(usedBytes)).join(',');
    annotations.starved_resource = resource;
    if (offendingPod !== undefined) {
      annotations.offending_pod = offendingPod.name;
      annotations.offending_pod_usage = bytes(offendingPod.usedBytes);
    }
  }
  return { message: sentences.join(''), annotations };
}

/** An amount of a signal as users are told. */
export function signalAmount(amount: number, unit: 'bytes' | 'count'): string {
  return formatQuantity(quantityOf(amount, unit === 'bytes' ? 'BinarySI' : 'DecimalSI'));
}

function thresholdSentence(
  resource: StarvedResource,
  act: readonly EvictionThreshold[],
  readings: SignalReadings,
): string {
  const threshold = act.find(({ signal }) => signalFacts[signal].resource === resource);
  const reading = threshold && readings.get(threshold.signal);
  if (threshold === undefined || reading === undefined) return '';
  const quantity = formatQuantity(thresholdQuantity(threshold.value, reading.capacity));
  const available = signalAmount(reading.available, signalFacts[threshold.signal].unit);
  return `Threshold quantity: ${quantity}, available: ${available}. `;
}

function podOffender(pod: Pod, stats: PodStatsSummary, resource: StarvedResource): Offender | undefined {
  const request = pod.spec.resources?.requests?.memory;
  const usedBytes = stats.memory?.workingSetBytes;
  if (resource !== 'memory' || request === undefined || usedBytes === undefined) return undefined;
  return { name: pod.metadata.name, usedBytes, request: formatQuantity(parseQuantity(request)) };
}

function containerOffenders(
  { spec }: Pod,
  stats: PodStatsSummary,
  resource: StarvedResource,
): readonly Offender[] {
  const known = new Map(
    [...spec.containers, ...(spec.initContainers ?? [])].map((container) => [container.name, container]),
  );
  return stats.containers.flatMap((container) => {
    const own = known.get(container.name);
    const usedBytes = containerUsage(container, resource);
    if (own === undefined || usedBytes === undefined) return [];
    const request = parseQuantity(own.resources?.requests?.[resource] ?? '0');
    if (usedBytes <= Number(quantityValue(request))) return [];
    return [{ name: container.name, usedBytes, request: formatQuantity(request) }];
  });
}

/** Undefined where a container's share of the resource is not known. */
function containerUsage(
  { memory, rootfs, logs }: ContainerStatsSummary,
  resource: StarvedResource,
): number | undefined {
  if (resource === 'memory') return memory?.workingSetBytes;
  if (resource !== 'ephemeral-storage') return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return rootfs.usedBytes + logs.usedBytes;
}

function sentence(kind: string, { name, usedBytes, request }: Offender, resource: StarvedResource): string {
  return `${kind} ${name} was using ${bytes(usedBytes)}, request is ${request}, has larger consumption of ${resource}. `;
}

function bytes(amount: number): string {
  return signalAmount(amount, 'bytes');
}
