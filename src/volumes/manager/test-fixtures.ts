/** Pods, wanted mounts and plugins for the manager's tests. */
import type { Pod, Volume } from '../../kube/index.js';
import type { SetUpRequest, VolumePlugin, VolumeRemains } from '../contracts.js';
import { type ActualMount, mountKey, uniqueNameInPod, type WantedMount } from './states.js';

export function podWith(
  volumes: readonly Volume[],
  { uid = 'u1', unused = [] as readonly string[] } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${uid}`, namespace: 'ns', uid },
    spec: {
      containers: [
        {
          name: 'app',
          image: 'app:1',
          volumeMounts: volumes
            .filter(({ name }) => !unused.includes(name))
            .map(({ name }) => ({ name, mountPath: `/${name}` })),
        },
      ],
      volumes: [...volumes],
    },
  };
}

export function wanted(name: string, overrides: Partial<WantedMount> = {}): WantedMount {
  const podUid = overrides.podUid ?? 'u1';
  const volume: Volume = { name, emptyDir: {} };
  return {
    uniqueName: uniqueNameInPod('fake/plugin', podUid, name),
    podUid,
    pluginName: 'fake/plugin',
    innerName: name,
    mode: 'Filesystem',
    volumeNames: [name],
    hasDevice: false,
    refreshes: false,
    pod: podWith([volume], { uid: podUid }),
    spec: { kind: 'inline', volume },
    extraGroup: undefined,
    ...overrides,
  };
}

export function actual(name: string, overrides: Partial<ActualMount> = {}): ActualMount {
  const { uniqueName, podUid, pluginName, innerName } = wanted(name, {
    podUid: overrides.podUid ?? 'u1',
  });
  return {
    uniqueName,
    podUid,
    pluginName,
    innerName,
    mode: 'Filesystem',
    state: 'mounted',
    reconstructed: false,
    remountRequired: false,
    owner: undefined,
    ...overrides,
  };
}

export function byKey<T extends { podUid: string; uniqueName: string }>(
  mounts: readonly T[],
): Map<string, T> {
  return new Map(mounts.map((mount) => [mountKey(mount), mount]));
}

/** A plugin that records its calls and completes them on command. */
export class FakePlugin implements VolumePlugin {
  readonly ownsDirectory = true;
  readonly supportsMountOptions = false;
  readonly setUps: SetUpRequest[] = [];
  readonly tearDowns: VolumeRemains[] = [];
  onSetUp: (request: SetUpRequest) => Promise<void> = async () => {};
  onTearDown: (remains: VolumeRemains) => Promise<void> = async () => {};

  constructor(
    readonly name: string,
    readonly accepting: (volume: Volume) => boolean,
    readonly refreshes = false,
    readonly devices?: VolumePlugin['devices'],
  ) {}

  accepts(spec: SetUpRequest['spec']): boolean {
    return this.accepting(spec.volume);
  }
  innerName(spec: SetUpRequest['spec']): string {
    return spec.kind === 'inline' ? spec.volume.name : (spec.persistentVolume.metadata.name ?? '');
  }
  traits() {
    return { managed: true, readOnly: this.refreshes, relabel: true };
  }
  hostPath(spec: SetUpRequest['spec'], podUid: string): string | undefined {
    return spec.volume.image === undefined ? `/root/${podUid}/${this.innerName(spec)}` : undefined;
  }
  setUp(request: SetUpRequest): Promise<void> {
    this.setUps.push(request);
    return this.onSetUp(request);
  }
  tearDown(remains: VolumeRemains): Promise<void> {
    this.tearDowns.push(remains);
    return this.onTearDown(remains);
  }
}
