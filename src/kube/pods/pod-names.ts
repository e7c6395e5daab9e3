/** Names and annotations of pods: full names, sources, containers and their field paths. */
import type { Container, EphemeralContainer } from '../types/container.js';
import type { Pod, PodManifest } from '../types/pod.js';

/** The source of a pod: `file`, `http` or `api`. */
export const configSourceAnnotation = 'kubernetes.io/config.source';
/** Identifies a static pod's content; its mirror has the same value. */
export const configHashAnnotation = 'kubernetes.io/config.hash';
/** When this agent first saw the pod. */
export const configSeenAnnotation = 'kubernetes.io/config.seen';
/** Marks a mirror pod; the value is the static pod's hash. */
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

/** Ordinary pods never preempt pods of this priority or higher (`system-cluster-critical`). */
export const criticalPriority = 2_000_000_000;

export type ContainerKind = 'container' | 'initContainer' | 'ephemeralContainer';

/** The kinds as metrics name them, in the label `container_type`. */
export const containerTypes: Readonly<Record<ContainerKind, string>> = {
  container: 'container',
  initContainer: 'init_container',
  ephemeralContainer: 'ephemeral_container',
};

export interface PodContainer {
  readonly kind: ContainerKind;
  readonly container: Container | EphemeralContainer;
  /** `spec.containers{name}`, the form in events. */
  readonly fieldPath: string;
}

const listNames = {
  container: 'containers',
  initContainer: 'initContainers',
  ephemeralContainer: 'ephemeralContainers',
} as const satisfies Record<ContainerKind, string>;

/** `<name>_<namespace>` */
export function podFullName(pod: Pod): string {
  return buildPodFullName(pod.metadata.name, pod.metadata.namespace);
}

export function buildPodFullName(name: string, namespace: string): string {
  return `${name}_${namespace}`;
}

/** The inverse of `podFullName`; anything but two non-empty parts is an error. */
export function parsePodFullName(fullName: string): { name: string; namespace: string } {
  const parts = fullName.split('_');
  const [name, namespace] = parts;
  if (parts.length !== 2 || !name || !namespace) {
    throw new Error(`failed to parse the pod full name "${fullName}": expected <name>_<namespace>`);
  }
  return { name, namespace };
}

/** `<name>_<namespace>(<uid>)`, the form in logs and events. */
export function formatPod(pod: Pod): string {
  return `${podFullName(pod)}(${pod.metadata.uid})`;
}

/** A pod that came from a file or a URL instead of the API. */
export function isStaticPod(pod: PodManifest): boolean {
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== 'api';
}

/** The API's picture of a static pod. */
export function isMirrorPod(pod: PodManifest): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}

export function isCriticalPod(pod: PodManifest): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= criticalPriority;
}

/** A pod that has ended for good. */
export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export function isHostNetwork(pod: PodManifest): boolean {
  return pod.spec.hostNetwork === true;
}

/** An init container that keeps running beside the regular ones. */
export function isSidecar(initContainer: Container): boolean {
  return initContainer.restartPolicy === 'Always';
}

/** `spec.initContainers{name}`, the form in events. */
export function containerFieldPath(kind: ContainerKind, name: string): string {
  return `spec.${listNames[kind]}{${name}}`;
}

/** All containers of a pod in the order init, regular, ephemeral. */
export function* podContainers(pod: PodManifest): Generator<PodContainer> {
  yield* ofKind('initContainer', pod.spec.initContainers);
  yield* ofKind('container', pod.spec.containers);
  yield* ofKind('ephemeralContainer', pod.spec.ephemeralContainers);
}

/** The container of that name, whichever list it stands in. */
export function findPodContainer(pod: PodManifest, name: string): PodContainer | undefined {
  for (const entry of podContainers(pod)) {
    if (entry.container.name === name) return entry;
  }
  return undefined;
}

function* ofKind(
  kind: ContainerKind,
  containers: readonly (Container | EphemeralContainer)[] | undefined,
): Generator<PodContainer> {
  for (const container of containers ?? []) {
    yield { kind, container, fieldPath: containerFieldPath(kind, container.name) };
  }
}
