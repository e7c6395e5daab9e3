/** Builds the server of the pod resources API, by which monitoring learns who was given which parts of the machine. */

import { join } from 'node:path/posix';
import { serveGrpc } from '../../grpc/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import { claimsOfContainer, type DraManager, devicesOfClaim } from '../../resources/dra/index.js';
import {
  createPodResourcesMetrics,
  type ListedClaim,
  type ListedDevice,
  podResourcesServices,
} from '../../resources/pod-resources/index.js';
import type { KubeletSettings } from '../settings.js';
import type { ResourceManagers } from './create-resource-managers.js';
import { type ServedSocket, servedSocket } from './served-socket.js';

/** What a manager of devices tells: which each container has, and which there are. */
export interface DeviceProvider {
  devicesOf(podUid: string, container: string): readonly ListedDevice[];
  /** Healthy ones, held or not. */
  allocatable(): readonly ListedDevice[];
}

export interface PodResourcesPorts {
  readonly activePods: () => readonly Pod[];
  readonly allPods: () => readonly Pod[];
  readonly resources: Pick<ResourceManagers, 'given'>;
  readonly dra: Pick<DraManager, 'claim'> | undefined;
  /** Absent where no plugin can offer devices. */
  readonly devices?: DeviceProvider | undefined;
}

type PodResourcesSettings = Pick<
  KubeletSettings,
  'clock' | 'timeline' | 'registry' | 'gates' | 'rootDir' | 'isOwnMachine' | 'outside' | 'podDirectories'
>;

/** Undefined where a socket would be on another machine. */
export function createPodResources(
  settings: PodResourcesSettings,
  ports: PodResourcesPorts,
): ServedSocket | undefined {
  const { clock, timeline, registry, gates, rootDir } = settings;
  if (!settings.isOwnMachine || !settings.podDirectories) return undefined;
  const { resources, dra, devices } = ports;
  const services = podResourcesServices({
    clock,
    metrics: createPodResourcesMetrics(registry),
    activePods: ports.activePods,
    allPods: ports.allPods,
    listsActivePods: gates.enabled('KubeletPodResourcesListUseActivePods'),
    devices: (uid, container) => devices?.devicesOf(uid, container) ?? [],
    cpus: (uid, container) => resources.given.cpus(uid, container),
    memory: (uid, container) => resources.given.memory(uid, container),
    podCpus: (uid) => resources.given.podCpus(uid),
    podMemory: (uid) => resources.given.podMemory(uid),
    claims: (pod, container) => (dra === undefined ? [] : claimsIn(dra, pod, container)),
    allocatable: {
      devices: () => devices?.allocatable() ?? [],
      cpus: () => resources.given.allocatableCpus(),
      memory: () => resources.given.allocatableMemory(),
    },
  });
  return servedSocket({
    serve: settings.outside.port('pod resources socket', () => serveGrpc),
    timeline,
    name: 'The pod resources API',
    socketPath: join(rootDir, 'pod-resources', 'kubelet.sock'),
    services,
  });
}

/** Each claim of the container once, with all its devices. */
function claimsIn(
  dra: Pick<DraManager, 'claim'>,
  pod: Pod,
  container: AnyContainer,
): readonly ListedClaim[] | undefined {
  const { namespace } = pod.metadata;
  const names = new Set(claimsOfContainer(pod, container).map(({ claimName }) => claimName));
  const claims: ListedClaim[] = [];
  for (const name of names) {
    const claim = dra.claim(namespace, name);
    if (claim === undefined) return undefined;
    claims.push({ name, namespace, devices: devicesOfClaim(claim) });
  }
  return claims;
}
