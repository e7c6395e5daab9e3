/** What must hold of a node when nothing has gone wrong for a while: all that is wanted runs, and nothing else is left. */
import type { Pod } from '../../src/kube/index.js';
import { nodeName } from '../../test/sim/node-name.js';
import { rootDir } from '../world/machine-files.js';
import type { SimulatedNode } from '../world/simulated-node.js';
import { volumeOf } from '../world/storage.js';
import { lastPodName, type Users } from '../world/users.js';
import { leftovers, staleRecords } from './leftovers.js';
import type { RuntimeBook } from './runtime-book.js';
import type { StatusBook } from './status-book.js';

/** In this time a kubelet that started has seen everything. */
const settledMs = 15_000;

export interface QuietView {
  readonly node: SimulatedNode;
  readonly users: Users;
  readonly book: RuntimeBook;
  readonly statusBook: StatusBook;
  /** Who may run on CPUs that another one has for itself. */
  readonly intruders: () => readonly string[];
  /** How long the kubelet has been up. */
  readonly upMs: () => number;
  /** Lines of the machine's mounts and files; empty while they are not looked at. */
  readonly files: readonly string[];
  /** The containers that ran when it came to rest. */
  readonly rested?: readonly string[];
}

export async function quietProblems(view: QuietView): Promise<readonly string[]> {
  const { users, node } = view;
  const pods = await users.list();
  const mirrors = pods.filter(isMirror);
  const own = pods.filter((pod) => !isMirror(pod));
  const statics = [...users.statics.values()];
  const known = new Set([
    ...own.map(({ metadata }) => metadata.uid),
    ...statics.map(({ metadata }) => metadata.uid),
  ]);
  return [
    // All may look well to one that is down: it has not seen yet what happened meanwhile.
    ...(view.upMs() < settledMs ? ['the kubelet is down, or was just started'] : []),
    ...own.flatMap((pod) => podProblems(pod, view)),
    ...statics.flatMap((pod) => staticProblems(pod, mirrors, view)),
    ...mirrors
      .filter(({ metadata }) => !statics.some((pod) => pod.metadata.name === metadata.name))
      .map(({ metadata }) => `mirror ${metadata.name} is left`),
    ...node.runtime.allSandboxes
      .filter(({ config }) => !known.has(config.metadata?.uid ?? ''))
      .map(({ config }) => `the sandbox of ${config.metadata?.name} is left`),
    ...leftFiles(view.files, known),
    ...storageProblems(own, view),
    ...view.intruders(),
    ...leftovers(view.files),
    ...(hasTakenLast(own) ? staleRecords(view.files, known) : []),
    ...(view.rested === undefined ? [] : restarts(view, view.rested)),
  ];
}

function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

function podProblems(pod: Pod, view: QuietView): string[] {
  const { users, book, node } = view;
  const { uid, name, deletionTimestamp } = pod.metadata;
  const { phase, reason } = pod.status ?? {};
  if (deletionTimestamp !== undefined) return [`pod ${name} is deleted and still there`];
  if (phase === 'Succeeded' || phase === 'Failed') {
    const running = book.runningOf(uid);
    if (running.length > 0) return [`pod ${name} is ${phase} and runs`];
    return users.fate(uid) === 'runs' && !users.mayFail(uid, reason)
      ? [`pod ${name} is ${phase} ${reason} ${pod.status?.message ?? ''}`]
      : [];
  }
  if (waitsForVolume(pod, view)) return [];
  switch (users.fate(uid)) {
    case 'unsettled':
      return [];
    case 'ends':
      return [`pod ${name} should have ended, and is ${phase}`];
    case 'runs':
      return [...runProblems(pod, book, node), ...readyProblems(pod)];
  }
}

/** Some records follow with their next change, as the reference kubelet's do; the last pod is one. */
function hasTakenLast(own: readonly Pod[]): boolean {
  return own.some(({ metadata, status }) => metadata.name === lastPodName && status?.phase === 'Running');
}

/** Another pod has a volume that only one may have. */
function waitsForVolume({ metadata }: Pod, { users, node }: QuietView): boolean {
  const claim = users.pods.get(metadata.uid)?.draft.claim;
  if (claim === undefined || node.storage === undefined) return false;
  return node.storage.mounted.some(
    ({ volumeId, podUid }) =>
      claim.startsWith('pod-') &&
      volumeId === volumeOf(claim) &&
      podUid !== undefined &&
      podUid !== metadata.uid,
  );
}

function storageProblems(own: readonly Pod[], { node, files }: QuietView): readonly string[] {
  if (node.storage === undefined) return [];
  const active = new Set(
    own
      .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
      .map(({ metadata }) => metadata.uid),
  );
  return node.storage.left((uid) => active.has(uid), files);
}

/** An image that is still to change is no rest: a kubelet that is down, or a grace period, can make it late. */
function runProblems({ metadata, spec }: Pod, book: RuntimeBook, { runtime }: SimulatedNode): string[] {
  const images = new Map(runtime.runningContainers.map(({ id, config }) => [id, config.image]));
  const running = book.runningOf(metadata.uid).filter(({ isStranger }) => !isStranger);
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const wanted = [...sidecars, ...spec.containers].map(({ name, image }) => `${name} of ${image}`).sort();
  const found = running.map(({ id, name }) => `${name} of ${images.get(id)?.userSpecifiedImage}`).sort();
  return wanted.join() === found.join() ? [] : [`pod ${metadata.name} runs [${found}], not [${wanted}]`];
}

function readyProblems({ metadata, status }: Pod): string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return ready === 'True' ? [] : [`pod ${metadata.name} is ${status?.phase} and not ready`];
}

function staticProblems(pod: Pod, mirrors: readonly Pod[], view: QuietView): string[] {
  const { book, node } = view;
  const mirror = mirrors.find(({ metadata }) => metadata.name === pod.metadata.name);
  if (mirror === undefined) return [`static pod ${pod.metadata.name} has no mirror on ${nodeName}`];
  if (view.users.mayFail(pod.metadata.uid, mirror.status?.reason)) return [];
  return [...runProblems(pod, book, node), ...readyProblems(mirror)];
}

function leftFiles(lines: readonly string[], known: ReadonlySet<string>): string[] {
  const below = `${rootDir}/pods/`;
  return lines.flatMap((line) => {
    const [, path = ''] = line.split(' ');
    if (!path.startsWith(below)) return [];
    const uid = path.slice(below.length).split('/')[0] ?? '';
    return known.has(uid) ? [] : [`${line.split(' ').slice(0, 2).join(' ')} is left`];
  });
}

/** Containers that were there and are not, though nothing happened. */
function restarts({ node, users, book }: QuietView, rested: readonly string[]): string[] {
  const now = new Map(node.runtime.allContainers.map((container) => [container.id, container]));
  return rested.flatMap((id) => {
    const known = book.containers.get(id);
    if (now.get(id)?.state.kind === 'running' || known === undefined) return [];
    return users.fate(known.podUid) === 'runs'
      ? [`container ${known.name} of ${known.podUid} does not run on`]
      : [];
  });
}
