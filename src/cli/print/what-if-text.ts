/** Formats the answers of `nodelet what-if` for people. */
import type {
  BoundedList,
  EvictionOutlook,
  GarbageOutlook,
  PodOutlook,
  RemovalWhen,
  RuntimeItemOutlook,
  ShutdownOutlook,
  SignalOutlook,
} from '../../kubelet/index.js';
import { cleanText } from './clean-text.js';
import { formatTable } from './table.js';

type Rows = readonly (readonly string[])[];

/** `most` is how many lines of each list are shown. */
export function evictionText(outlook: EvictionOutlook, most: number): string {
  const { off, next, conditions, overLimits, signals } = outlook;
  const lines = [
    ...(off === undefined ? [] : [`This node evicts no pods: ${off}.`]),
    ...(off === undefined ? [next] : []),
    ...(conditions.length === 0 ? [] : [`The node has ${conditions.join(', ')}.`]),
  ].map((line) => `${cleanText(line)}\n`);
  const limits =
    overLimits.items.length === 0
      ? ''
      : `\nBeyond their limits of local storage; all end at once:\n${boundedTable(
          ['POD', 'GRACE', 'REASON'],
          overLimits,
          most,
          (pod) => [podText(pod), `${pod.graceSeconds}s`, pod.because],
        )}`;
  return `${lines.join('')}${limits}${signals.map((signal) => signalText(signal, most)).join('')}`;
}

const freed = { containers: 'dead containers', images: 'unused images' } as const;

function signalText(outlook: SignalOutlook, most: number): string {
  const { signal, unit, available, capacity, thresholds, reclaimFirst, pods } = outlook;
  const amount = (value: number): string => amountText(value, unit);
  const reading =
    available === undefined || capacity === undefined
      ? 'cannot be read, so no threshold is ever met'
      : `${amount(available)} of ${amount(capacity)} available`;
  const limits = thresholds.map(({ kind, value, gracePeriod, met }) => {
    const patience = kind === 'soft' ? ` for ${gracePeriod}` : '';
    return `${kind} threshold ${amount(value)}${patience} ${met ? 'is met' : 'is not met'}`;
  });
  const first =
    reclaimFirst.length === 0
      ? []
      : [`First the node removes ${reclaimFirst.map((step) => freed[step]).join(', then ')}.`];
  const ranking =
    pods.items.length === 0
      ? 'No pods.\n'
      : boundedTable(['PLACE', 'POD', 'PRIORITY', 'GRACE', 'REASON'], pods, most, podRow);
  return `\n${signal}: ${reading}; ${limits.join('; ')}\n${first.map((line) => `${line}\n`).join('')}${ranking}`;
}

function podRow(pod: PodOutlook): readonly string[] {
  const { place, priority, graceSeconds, passedOver, because } = pod;
  return [
    place === undefined ? '-' : String(place),
    podText(pod),
    String(priority),
    passedOver === undefined ? `${graceSeconds}s` : '-',
    passedOver === undefined ? because : `passed over: ${passedOver}`,
  ];
}

export function garbageText(outlook: GarbageOutlook, most: number): string {
  const { containers, sandboxes, logDirectories, images, imageFileSystem, imageBytes } = outlook;
  const { usedPercent, highThresholdPercent, wantedBytes } = imageFileSystem;
  const space =
    usedPercent === undefined
      ? 'the runtime does not tell how full its file system is'
      : `the file system is ${usedPercent}% full, images go ${highThresholdPercent < 100 ? `from ${highThresholdPercent}%` : 'only under disk pressure'}`;
  const wanted = wantedBytes > 0 ? `; ${bytesText(wantedBytes)} have to be freed` : '';
  return [
    section('Dead containers', containers, most, ['POD', 'CONTAINER', 'ID'], (item) => [
      podText(item.pod),
      item.container ?? '',
      shortId(item.id),
    ]),
    section('Ended sandboxes', sandboxes, most, ['POD', 'ID'], sandboxCells),
    logDirectories.items.length === 0
      ? 'Logs of pods that are gone: none\n'
      : `Logs of pods that are gone, which go now:\n${boundedTable(['DIRECTORY'], logDirectories, most, (path) => [path])}`,
    section('Images', images, most, ['IMAGE', 'SIZE'], ({ name, id, sizeBytes }) => [
      name || shortId(id),
      bytesText(sizeBytes),
    ]),
    `${space[0]?.toUpperCase()}${space.slice(1)}${wanted}. ` +
      `Images give back ${bytesText(imageBytes.now)} now, ${bytesText(imageBytes.underDiskPressure)} under disk pressure.\n`,
  ].join('\n');
}

function sandboxCells({ pod, id }: RuntimeItemOutlook): readonly string[] {
  return [podText(pod), shortId(id)];
}

export function shutdownText({ off, delaySeconds, groups }: ShutdownOutlook, most: number): string {
  if (off !== undefined) return `A shutdown of the machine waits for no pod: ${cleanText(off)}.\n`;
  const head = `A shutdown of the machine waits up to ${delaySeconds}s for pods.\n`;
  if (groups.length === 0) return `${head}There are no pods.\n`;
  const texts = groups.map(
    ({ priority, periodSeconds, pods }, at) =>
      `\n${at + 1}. Pods of priority ${priority} and higher end together, at most ${periodSeconds}s long:\n${boundedTable(
        ['POD', 'PRIORITY', 'GRACE', 'REASON'],
        pods,
        most,
        (pod) => [podText(pod), String(pod.priority), `${pod.graceSeconds}s`, pod.because],
      )}`,
  );
  return `${head}${texts.join('')}`;
}

const whenText: Readonly<Record<RemovalWhen, string>> = {
  now: 'goes now',
  'disk-pressure': 'goes if disk is short',
  kept: 'stays',
};

function section<T extends { readonly when: RemovalWhen; readonly because: string }>(
  title: string,
  list: BoundedList<T>,
  most: number,
  header: readonly string[],
  cells: (item: T) => readonly string[],
): string {
  if (list.items.length === 0) return `${title}: none\n`;
  return `${title}:\n${boundedTable(['WHEN', ...header, 'REASON'], list, most, (item) => [
    whenText[item.when],
    ...cells(item),
    item.because,
  ])}`;
}

/** The first rows, and how many more there are. Whatever comes from outside is cleaned. */
export function boundedTable<T>(
  header: readonly string[],
  { items, omitted }: BoundedList<T>,
  most: number,
  row: (item: T) => readonly string[],
): string {
  const shown: Rows = items.slice(0, most).map((item) => row(item).map(cleanText));
  const hidden = items.length - shown.length;
  const more = hidden + omitted;
  const hint = hidden > 0 ? '; --all shows more' : '';
  return `${formatTable(header, shown)}${more > 0 ? `… and ${more} more${hint}\n` : ''}`;
}

export function podText({ namespace, name, uid }: { namespace: string; name: string; uid: string }): string {
  return name === '' ? uid : `${namespace}/${name}`;
}

const shortIdLength = 13;

function shortId(id: string): string {
  return id.replace(/^sha256:/, '').slice(0, shortIdLength);
}

export function amountText(amount: number, unit: 'bytes' | 'count'): string {
  return unit === 'bytes' ? bytesText(amount) : String(amount);
}

const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];

/** Two digits are enough to compare sizes. */
export function bytesText(amount: number): string {
  let value = amount;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)}${units[unit]}B`;
}
