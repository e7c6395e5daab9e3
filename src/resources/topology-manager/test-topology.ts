/** Machines, pods and chance for the tests of the managers. */
import {
  applyPodDefaults,
  type Container,
  type Pod,
  type PodSpec,
  type ResourceList,
} from '../../kube/index.js';
import type { MachineTopology, NumaNode } from '../machine-topology/machine-topology.js';

export const gi = 1024 ** 3;
export const mi = 1024 ** 2;

/** A machine without CPUs, with these bytes on each node. */
export function memoryMachine(nodes: readonly (number | Partial<NumaNode>)[]): MachineTopology {
  return {
    cpus: [],
    socketCount: 1,
    numaNodes: nodes.map((node, id) => ({
      id,
      memoryBytes: 0,
      hugePages: [],
      distances: [],
      ...(typeof node === 'number' ? { memoryBytes: node } : node),
    })),
  };
}

/** A container whose limits are its requests. */
export function guaranteed(name: string, resources: ResourceList): Container {
  const given = { cpu: '1', ...resources };
  return { name, image: 'a:1', resources: { requests: given, limits: given } };
}

export function sidecar(name: string, resources: ResourceList): Container {
  return { ...guaranteed(name, resources), restartPolicy: 'Always' };
}

export function podOf(uid: string, spec: Partial<PodSpec>): Pod {
  const pod = applyPodDefaults({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid },
    spec: { containers: [], ...spec },
  });
  return { ...pod, metadata: { ...pod.metadata, name: uid, namespace: 'default', uid } };
}

/** Whole numbers from 0 up to `below`, the same for the same seed. */
export function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
