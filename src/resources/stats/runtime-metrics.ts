/** `/metrics/cadvisor` where the runtime measures pods: the metrics that it lists, as text. */
import {
  type CriRuntime,
  type MetricDescriptor,
  MetricType,
  type PodSandboxMetrics,
} from '../../cri/index.js';
import { type MachineShape, machineOnlyText } from './cadvisor-machine.js';
import type { CadvisorPage } from './cadvisor-scrape.js';
import { escaped, headText } from './exposition.js';

export interface RuntimeScrapeOptions {
  readonly cri: Pick<CriRuntime, 'listMetricDescriptors' | 'listPodSandboxMetrics'>;
  readonly machine: () => MachineShape;
}

export function runtimeScrape({ cri, machine: read }: RuntimeScrapeOptions): () => Promise<CadvisorPage> {
  let machine: MachineShape | undefined;
  return async () => {
    const errors: unknown[] = [];
    const [descriptors, pods] = await Promise.all([
      cri.listMetricDescriptors({}).then((answer) => answer.descriptors),
      cri.listPodSandboxMetrics({}).then(({ podMetrics }) => podMetrics),
    ]).catch((error: unknown) => {
      errors.push(error);
      return [[], []];
    });
    try {
      machine ??= read();
    } catch (error) {
      errors.push(error);
    }
    const machineFamilies = machineOnlyText(machine);
    const parts = {
      *[Symbol.iterator]() {
        yield* runtimeMetricsText(descriptors, pods);
        yield machineFamilies;
      },
    };
    return errors.length === 0 ? { parts } : { parts, error: errors[0] };
  };
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]{0,255}$/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]{0,255}$/;

interface RuntimeFamily {
  readonly descriptor: MetricDescriptor;
  readonly type: 'counter' | 'gauge';
  /** By their labels: the first of two alike counts. */
  readonly lines: Map<string, string>;
}

/**
 * One text a family, by name. A metric without a descriptor, with labels other than those of its descriptor, or with names
 * that the format does not allow is left out: one of them would make the whole page unreadable.
 */
export function* runtimeMetricsText(
  descriptors: readonly MetricDescriptor[],
  pods: readonly PodSandboxMetrics[],
): Generator<string> {
  const known = new Map(descriptors.filter(isReadable).map((descriptor) => [descriptor.name, descriptor]));
  const families = new Map<string, RuntimeFamily>();
  for (const { metrics, containerMetrics } of pods) {
    for (const metric of [...metrics, ...containerMetrics.flatMap((container) => container.metrics)]) {
      const { name, timestamp, metricType, labelValues, value } = metric;
      const descriptor = known.get(name);
      if (descriptor === undefined || descriptor.labelKeys.length !== labelValues.length) continue;
      const type = metricType === MetricType.COUNTER ? 'counter' : 'gauge';
      const family = families.get(name) ?? { descriptor, type, lines: new Map<string, string>() };
      families.set(name, family);
      const labels = descriptor.labelKeys
        .map((key, at) => `${key}="${escaped(labelValues[at] ?? '')}"`)
        .join(',');
      if (family.type !== type || family.lines.has(labels)) continue;
      const set = labels === '' ? '' : `{${labels}}`;
      const time = timestamp > 0n ? ` ${timestamp / 1_000_000n}` : '';
      family.lines.set(labels, `${name}${set} ${value?.value ?? 0}${time}\n`);
    }
  }
  for (const [name, { descriptor, type, lines }] of [...families].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const help = descriptor.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
    yield headText({ name, help, type }) + [...lines.values()].join('');
  }
}

function isReadable({ name, labelKeys }: MetricDescriptor): boolean {
  return (
    metricName.test(name) &&
    labelKeys.every((key) => labelName.test(key)) &&
    new Set(labelKeys).size === labelKeys.length
  );
}
