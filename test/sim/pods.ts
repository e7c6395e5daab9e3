/** The pods of the scenarios. */
import {
  applyPodDefaults,
  type Container,
  type Pod,
  type PodManifest,
  type PodSpec,
} from '../../src/kube/index.js';
import { readManifest } from '../../src/pods/index.js';
import { simAnnotationPrefix } from '../../src/runtimes/sim/index.js';
import { nodeName } from './node-name.js';

export interface PodShape {
  readonly uid?: string;
  readonly image?: string;
  /** Names of the containers, or the containers; default: one named `app`. */
  readonly containers?: readonly (string | Container)[];
  readonly init?: readonly (string | Container)[];
  readonly graceSeconds?: number;
  /** How the simulated containers behave, by setting or `<container>.<setting>`. */
  readonly sim?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: Pod['status'];
}

function describe(name: string, shape: PodShape): PodManifest {
  const container = (given: string | Container): Container =>
    typeof given === 'string' ? { name: given, image: shape.image ?? 'app:1' } : given;
  const script = Object.entries(shape.sim ?? {}).map(([key, value]) => [
    `${simAnnotationPrefix}${key}`,
    value,
  ]);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      annotations: { ...Object.fromEntries(script), ...shape.annotations },
    },
    spec: {
      ...(shape.graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: shape.graceSeconds }),
      ...(shape.init === undefined ? {} : { initContainers: shape.init.map(container) }),
      ...shape.spec,
      containers: (shape.containers ?? ['app']).map(container),
    },
  };
}

/** A pod as the API has it. */
export function apiPod(name: string, shape: PodShape = {}): Pod {
  const pod = applyPodDefaults(describe(name, shape));
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name,
      namespace: 'default',
      uid: shape.uid ?? `uid-of-${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { ...pod.spec, nodeName },
    status: shape.status ?? { phase: 'Pending' },
  };
}

/** A pod from a manifest in a file: named after the node, with a UID that follows from its content. */
export function staticPod(name: string, shape: PodShape = {}): Pod {
  const { pods } = readManifest(
    JSON.stringify(describe(name, shape)),
    { kind: 'file', path: `/manifests/${name}.json` },
    { nodeName, refuseApiReferences: true },
  );
  return pods[0]!;
}

/** The name under which a static pod runs. */
export function staticName(name: string): string {
  return `${name}-${nodeName}`;
}
