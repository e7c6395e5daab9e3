/** Formats what a new configuration would change and do, for people. */
import type { BoundedList, ConfigOutlook, MetThreshold } from '../../kubelet/index.js';
import { cleanText } from './clean-text.js';
import { amountText, boundedTable, bytesText, podText } from './what-if-text.js';

type AcceptedFile = Extract<ConfigOutlook, { kind: 'accepted' }>;

const effects = { restart: 'after a restart', none: 'none in this build' } as const;

/** `most` is how many lines of each list are shown. */
export function configText(outlook: ConfigOutlook, most: number): string {
  const file = cleanText(outlook.file);
  if (outlook.kind === 'refused') {
    const hint = outlook.hint === undefined ? '' : `\n${cleanText(outlook.hint)}`;
    return `${file} cannot be used: the agent would not start with it.\n${cleanText(outlook.problem)}${hint}\n`;
  }
  const { changes, warnings } = outlook;
  const parts = [
    changes.items.length === 0
      ? `${file} changes nothing.\n`
      : `${file} changes:\n${boundedTable(['FIELD', 'NOW', 'THEN', 'EFFECT'], changes, most, (change) => [
          change.field,
          change.before,
          change.after,
          effects[change.effect],
        ])}`,
    ...(warnings.items.length === 0
      ? []
      : [`${warnings.items.map((line) => `warning: ${cleanText(line)}`).join('\n')}\n`]),
    ...(changes.items.length === 0 ? [] : consequences(outlook, most)),
  ];
  return parts.join('\n');
}

function consequences(outlook: AcceptedFile, most: number): string[] {
  const { eviction, refusedPods, images, cgroups, allocatable, shutdownDelaySeconds } = outlook;
  return [
    ...listed('Allocatable of the node', all(allocatable), most, ['RESOURCE', 'NOW', 'THEN'], (change) => [
      change.name,
      change.before,
      change.after,
    ]),
    ...listed('Cgroups', cgroups, most, ['CGROUP', 'VALUE', 'NOW', 'THEN'], (change) => [
      change.cgroup,
      change.name,
      change.before,
      change.after,
    ]),
    ...listed(
      'Thresholds met at once',
      all(eviction.met),
      most,
      ['SIGNAL', 'THRESHOLD', 'AVAILABLE'],
      metCells,
    ),
    eviction.off === undefined
      ? `${cleanText(eviction.next)}\n`
      : `Nothing is evicted: ${cleanText(eviction.off)}.\n`,
    ...listed('Pods beyond limits of local storage', eviction.overLimits, most, ['POD', 'REASON'], (pod) => [
      podText(pod),
      pod.because,
    ]),
    ...listed('Pods that are refused', refusedPods, most, ['POD', 'REASON', 'MESSAGE'], (pod) => [
      podText(pod),
      pod.reason,
      pod.message,
    ]),
    ...listed(
      `Images that go, ${bytesText(images.bytes)}`,
      images.goNow,
      most,
      ['IMAGE', 'SIZE', 'REASON'],
      (image) => [image.name || image.id, bytesText(image.sizeBytes), image.because],
    ),
    ...(shutdownDelaySeconds.before === shutdownDelaySeconds.after
      ? []
      : [
          `A shutdown waits up to ${shutdownDelaySeconds.after}s for pods instead of ${shutdownDelaySeconds.before}s.\n`,
        ]),
  ];
}

function metCells({ signal, kind, value, gracePeriod, available, unit }: MetThreshold): readonly string[] {
  const threshold = amountText(value, unit);
  return [
    signal,
    kind === 'soft' ? `${threshold} for ${gracePeriod}` : threshold,
    available === undefined ? '' : amountText(available, unit),
  ];
}

function listed<T>(
  title: string,
  list: BoundedList<T>,
  most: number,
  header: readonly string[],
  row: (item: T) => readonly string[],
): string[] {
  return list.items.length === 0 ? [] : [`${title}:\n${boundedTable(header, list, most, row)}`];
}

function all<T>(items: readonly T[]): BoundedList<T> {
  return { items, omitted: 0 };
}
