/** Finds the pod and the container that the user names. */
import { nearestName } from '../../flags/index.js';
import type { Pod, PodList } from '../../kube/types/index.js';
import { type Connection, requestJson } from './connection.js';
import { containersOf, type NamedContainer } from './containers-of.js';
import { CommandFailure } from './usage-error.js';

/** Adds apiVersion and kind, which the items of a PodList do not have. */
export async function listPods(connection: Connection): Promise<Pod[]> {
  const { items } = await requestJson<PodList>(connection, '/pods');
  return items.map((pod) => ({ apiVersion: 'v1', kind: 'Pod', ...pod }));
}

export interface WantedPod {
  /** `NAME`, `pod/NAME` or `NAMESPACE/NAME`. */
  readonly name: string;
  /** Undefined: any namespace. */
  readonly namespace: string | undefined;
}

/** Also finds a static pod by the name in its manifest, without the node name at its end. Throws a CommandFailure. */
export function choosePod(pods: readonly Pod[], wanted: WantedPod): Pod {
  const { name, namespace } = splitName(wanted);
  const inNamespace = pods.filter(
    ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
  );
  const exact = inNamespace.filter(({ metadata }) => metadata.name === name);
  const found =
    exact.length > 0
      ? exact
      : inNamespace.filter(
          ({ metadata, spec }) => spec.nodeName && metadata.name === `${name}-${spec.nodeName}`,
        );
  const [pod] = found;
  if (pod === undefined) throw new CommandFailure(notFound(pods, name, namespace));
  if (found.length > 1) {
    const places = found.map(({ metadata }) => metadata.namespace).sort();
    throw new CommandFailure(
      `pods "${name}" are in several namespaces: choose one with -n: ${places.join(', ')}`,
    );
  }
  return pod;
}

function splitName({ name, namespace }: WantedPod): WantedPod {
  const slash = name.indexOf('/');
  if (slash < 0) return { name, namespace };
  const before = name.slice(0, slash);
  const after = name.slice(slash + 1);
  return podWords.has(before) ? { name: after, namespace } : { name: after, namespace: namespace ?? before };
}

/** kubectl's names for pods. */
export const podWords: ReadonlySet<string> = new Set(['pod', 'pods', 'po']);

function notFound(pods: readonly Pod[], name: string, namespace: string | undefined): string {
  const where = namespace === undefined ? '' : ` in namespace ${JSON.stringify(namespace)}`;
  const subject = `pods ${JSON.stringify(name)} not found${where}`;
  if (pods.length === 0) return `${subject}: there are no pods`;
  const names = pods.map(podName).sort();
  const near = nearestName(
    name,
    pods.map(({ metadata }) => metadata.name),
  );
  const meant = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  return `${subject}${meant}\nThere ${names.length === 1 ? 'is' : 'are'}: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}`;
}

/** The name, with the namespace unless that is `default`. */
export function podName({ metadata }: Pod): string {
  const { name, namespace } = metadata;
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

export { containersOf, type NamedContainer };

const defaultContainerAnnotation = 'kubectl.kubernetes.io/default-container';

export interface ChosenContainer {
  readonly name: string;
  /** What to tell the user about the choice. */
  readonly note?: string;
}

/** Returns the wanted container, else the pod's default, else its first one. */
export function chooseContainer(pod: Pod, wanted: string | undefined): ChosenContainer {
  const all = containersOf(pod);
  if (wanted !== undefined) {
    if (all.some(({ name }) => name === wanted)) return { name: wanted };
    const names = all.map(({ name }) => name);
    const near = nearestName(wanted, names);
    throw new CommandFailure(
      `container ${wanted} is not valid for pod ${podName(pod)}${near === undefined ? '' : `; did you mean ${near}?`}\nIt has: ${names.join(', ')}`,
    );
  }
  const marked = pod.metadata.annotations?.[defaultContainerAnnotation];
  if (marked !== undefined && all.some(({ name }) => name === marked)) return { name: marked };
  const first = all[0]?.name ?? '';
  if (all.length === 1) return { name: first };
  const list = all.map(({ name, kind }) =>
    kind === 'container' ? name : kind === 'init' ? `${name} (init)` : `${name} (ephem)`,
  );
  return { name: first, note: `Defaulted container ${JSON.stringify(first)} out of: ${list.join(', ')}` };
}

/** `/exec/default/web/app`, with every segment escaped. */
export function podPath(endpoint: string, { metadata }: Pod, ...more: readonly string[]): string {
  const segments = [endpoint, metadata.namespace, metadata.name, ...more];
  return `/${segments.map(encodeURIComponent).join('/')}`;
}
