/** Holds what a node shows, what its runtime has and what lies on its machine against what is wanted. Pure. */
import type { ContainerStatus, Pod } from '../../src/kube/index.js';
import { destinyOf, type PlannedPod } from '../plan/shapes.js';
import type { FileSample, MachineSample } from '../sample/machine-sample.js';
import type { RuntimeSample, SeenContainer } from '../sample/runtime-sample.js';

export interface WantedPod {
  readonly plan: PlannedPod;
  readonly shownName: string;
}

export interface Seen {
  readonly pods: readonly Pod[];
  readonly runtime: RuntimeSample;
  /** How often each container was started, as its own lines tell, by `<pod uid>.<container>`. */
  readonly starts: ReadonlyMap<string, number>;
}

/** What must never be, at no moment: each line is one fault. */
export function doubles({ containers, sandboxes }: RuntimeSample): string[] {
  const twice = <T>(items: readonly T[], nameOf: (item: T) => string): string[] => {
    const counts = new Map<string, number>();
    for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
    return [...counts].filter(([, count]) => count > 1).map(([name, count]) => `${name} runs ${count} times`);
  };
  return [
    ...twice(
      containers.filter(({ runs }) => runs),
      ({ pod, podUid, name }) => `container ${name} of pod ${pod} (${podUid})`,
    ),
    ...twice(
      sandboxes.filter(({ isReady }) => isReady),
      ({ pod, podUid }) => `the sandbox of pod ${pod} (${podUid})`,
    ),
  ];
}

/** What is not yet, or not any more, as it should be once nobody changes anything. */
export function unsettled(wanted: readonly WantedPod[], seen: Seen): string[] {
  const { pods, runtime } = seen;
  const shown = new Map(pods.map((pod) => [pod.metadata.name ?? '', pod]));
  const names = new Set(wanted.map(({ shownName }) => shownName));
  const uids = new Set(wanted.flatMap(({ shownName }) => shown.get(shownName)?.metadata.uid ?? []));
  return [
    ...[...shown.keys()]
      .filter((name) => !names.has(name))
      .map((name) => `pod ${name} is not wanted and still there`),
    ...runtime.containers
      .filter(({ podUid, runs }) => runs && !uids.has(podUid))
      .map(({ name, pod, podUid }) => `container ${name} of pod ${pod} (${podUid}) runs and is not wanted`),
    ...wanted.flatMap(({ plan, shownName }) => {
      const pod = shown.get(shownName);
      return pod === undefined ? [`pod ${shownName} is not there`] : podProblems(plan, pod, seen);
    }),
  ];
}

function podProblems(plan: PlannedPod, pod: Pod, { runtime, starts }: Seen): string[] {
  const name = pod.metadata.name ?? '';
  const uid = pod.metadata.uid ?? '';
  const destiny = destinyOf(plan.shape);
  const phase = pod.status?.phase;
  const problems: string[] = [];
  if (destiny === 'runs' && !(phase === 'Running' && isReady(pod))) {
    problems.push(`pod ${name} is ${phase ?? 'without a phase'} and not ready${waitingOf(pod)}`);
  }
  if (destiny === 'succeeds' && phase !== 'Succeeded')
    problems.push(`pod ${name} is ${phase}, not Succeeded`);
  const own = runtime.containers.filter(({ podUid }) => podUid === uid);
  for (const status of pod.status?.containerStatuses ?? []) {
    problems.push(
      ...containerProblems(
        plan,
        name,
        status,
        newest(own, status.name),
        starts.get(`${uid}.${status.name}`) ?? 0,
      ),
    );
  }
  return problems;
}

function containerProblems(
  { shape }: PlannedPod,
  pod: string,
  { name, restartCount, state, containerID = '' }: ContainerStatus,
  container: SeenContainer | undefined,
  starts: number,
): string[] {
  const what = `container ${name} of pod ${pod}`;
  const problems: string[] = [];
  if (container !== undefined) {
    if (container.attempt !== restartCount) {
      problems.push(
        `${what} shows ${restartCount} restarts, and the runtime has attempt ${container.attempt}`,
      );
    }
    if ((state?.running !== undefined) !== container.runs) {
      problems.push(
        `${what} ${container.runs ? 'runs, and its status does not say so' : 'does not run, and its status says so'}`,
      );
    }
    if (state?.running !== undefined && !containerID.endsWith(container.id)) {
      problems.push(`${what} is shown as ${containerID}, and the runtime runs ${container.id}`);
    }
  } else if (state?.running !== undefined)
    problems.push(`${what} is shown as running, and the runtime has none`);
  // A start of the runtime's that failed half-way is one that the container never noted.
  if (starts > restartCount + 1)
    problems.push(`${what} was started ${starts} times, and shows ${restartCount} restarts`);
  if (shape === 'job' && starts > 1) problems.push(`${what} must run once and was started ${starts} times`);
  return problems;
}

export interface LeftSeen extends Seen {
  readonly machine: MachineSample;
  readonly files: FileSample;
}

/** What is left of pods that are gone. */
export function leftovers(
  wanted: readonly WantedPod[],
  { pods, runtime, machine, files }: LeftSeen,
): string[] {
  const names = new Set(wanted.map(({ shownName }) => shownName));
  const uids = pods
    .filter(({ metadata }) => names.has(metadata.name ?? ''))
    .map(({ metadata }) => metadata.uid ?? '');
  const isOfWanted = (path: string): boolean =>
    uids.some((uid) => path.includes(uid) || path.includes(uid.replaceAll('-', '_')));
  const strangers = (what: string, paths: readonly string[]): string[] =>
    paths.filter((path) => !isOfWanted(path)).map((path) => `${what} ${path} is left`);
  const known = new Set(uids);
  return [
    ...runtime.sandboxes
      .filter(({ podUid }) => !known.has(podUid))
      .map(({ pod, id }) => `sandbox ${id} of pod ${pod} is left`),
    ...runtime.containers
      .filter(({ podUid }) => !known.has(podUid))
      .map(({ pod, name, id }) => `container ${id} (${name}) of pod ${pod} is left`),
    ...strangers('the directory of pod', files.podDirectories),
    ...strangers('the log directory', files.logDirectories),
    ...strangers(
      'the mount',
      // A volume of a driver is staged for all pods that use it; its path names no pod.
      machine.mounts.filter((path) => path.includes('/pods/')),
    ),
    ...strangers(
      'the cgroup',
      machine.cgroups.filter((path) => /(^|\/)pod[^/]*$/.test(path)),
    ),
  ];
}

/**
 * What is left on the machine of sandboxes that the runtime itself does not list. Nobody can ask it to remove them: a runtime that
 * is killed while it starts a sandbox leaves it so.
 */
export function leftByRuntime({ runtime, machine }: Pick<LeftSeen, 'runtime' | 'machine'>): string[] {
  const { sandboxes } = runtime;
  const listed = new Set(sandboxes.map(({ id }) => id));
  const more = (what: string, count: number): string[] =>
    count > sandboxes.length ? [`${count} ${what} for ${sandboxes.length} sandboxes`] : [];
  return [
    ...machine.shims.filter((id) => !listed.has(id)).map((id) => `the shim of sandbox ${id}`),
    ...more('network namespaces', machine.networkNamespaces),
    ...more('links of pods', machine.links),
    ...more('addresses of pods', machine.addresses),
  ];
}

function newest(containers: readonly SeenContainer[], name: string): SeenContainer | undefined {
  return containers.filter((container) => container.name === name).sort((a, b) => b.attempt - a.attempt)[0];
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

function waitingOf({ status }: Pod): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waits = all.flatMap(({ name, state }) =>
    state?.waiting === undefined
      ? []
      : [`${name}: ${state.waiting.reason} ${(state.waiting.message ?? '').slice(0, 200)}`],
  );
  return waits.length === 0 ? '' : ` (${waits.join('; ')})`;
}
