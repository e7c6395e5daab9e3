/** The storage of a simulated cluster: claims with their volumes, and the CSI driver of the machine that publishes them. */
import { resources } from '../../src/kube-client/index.js';
import type { SimContainer } from '../../src/runtimes/sim/index.js';
import { SimulatedCsiDriver } from '../../test/sim/csi-driver.js';
import { isStagingPath } from '../../test/sim/csi-driver-volumes.js';
import { rootDir } from './machine-files.js';
import type { SimulatedNode } from './simulated-node.js';

/** How many pods may use a volume: those of one node, or one. */
export type ClaimMode = 'node' | 'pod';

const namespace = 'default';
const sourcePrefix = '/dev/csi/';
const podPath = new RegExp(`^${rootDir}/pods/([^/]+)/`);

export interface MountedVolume {
  readonly volumeId: string;
  readonly path: string;
  /** Undefined where it is staged. */
  readonly podUid: string | undefined;
}

export class Storage {
  readonly driver: SimulatedCsiDriver;
  readonly #node: SimulatedNode;
  readonly #claims = new Set<string>();

  /** `runs` tells which containers count as users of a path. */
  constructor(node: SimulatedNode, runs: (container: SimContainer) => boolean) {
    this.#node = node;
    this.driver = new SimulatedCsiDriver({
      clock: node.clock,
      machine: node.files,
      rootDir,
      usersOf: (path) =>
        node.runtime.runningContainers
          .filter(
            (container) =>
              runs(container) && container.config.mounts.some(({ hostPath }) => hostPath === path),
          )
          .map(({ sandbox, config }) => `${sandbox.config.metadata?.name}/${config.metadata?.name}`),
    });
  }

  async begin(): Promise<void> {
    await this.#node.api.create(resources.csiDrivers, {
      metadata: { name: this.driver.name },
      spec: {
        attachRequired: false,
        fsGroupPolicy: 'ReadWriteOnceWithFSType',
        volumeLifecycleModes: ['Persistent'],
      },
    });
    await this.driver.start();
  }

  /** The claim of the name, bound to a volume of its own; made when it is first asked for. */
  async claim(name: string, mode: ClaimMode): Promise<void> {
    if (this.#claims.has(name)) return;
    this.#claims.add(name);
    const { api } = this.#node;
    const accessModes = [mode === 'pod' ? 'ReadWriteOncePod' : 'ReadWriteOnce'];
    const { metadata } = await api.create(resources.persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: { accessModes, volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    });
    await api.create(resources.persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        accessModes,
        capacity: { storage: '1Gi' },
        claimRef: { namespace, name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
        csi: { driver: this.driver.name, volumeHandle: volumeOf(name) },
      },
    });
  }

  get mounted(): readonly MountedVolume[] {
    const { files } = this.#node;
    return files.mounts.flatMap((mount) => {
      const { source, target } = files.describe(mount);
      if (!source.startsWith(sourcePrefix)) return [];
      const volumeId = source.slice(sourcePrefix.length);
      return [
        { volumeId, path: target, podUid: isStagingPath(target) ? undefined : podPath.exec(target)?.[1] },
      ];
    });
  }

  /** What the driver saw that no driver may see, and volumes in two pods of which only one may have them. */
  violations(): readonly string[] {
    const pods = new Map<string, Set<string>>();
    for (const { volumeId, podUid } of this.mounted) {
      if (podUid === undefined || !this.#isForOnePod(volumeId)) continue;
      pods.set(volumeId, (pods.get(volumeId) ?? new Set()).add(podUid));
    }
    return [
      ...this.driver.volumes.violations,
      ...[...pods].flatMap(([volumeId, uids]) =>
        uids.size < 2 ? [] : [`${volumeId} is published for the pods ${[...uids].join(' and ')}`],
      ),
    ];
  }

  #isForOnePod(volumeId: string): boolean {
    return volumeId.startsWith(volumeOf('pod-'));
  }

  /** Volumes that are mounted, and what lies where volumes are staged, though no pod that uses them is there. */
  left(uses: (podUid: string) => boolean, lines: readonly string[]): readonly string[] {
    const { mounted } = this;
    const used = new Set(mounted.flatMap(({ volumeId, podUid }) => (podUid === undefined ? [] : [volumeId])));
    const staging = `${rootDir}/plugins/kubernetes.io/csi/${this.driver.name}/`;
    return [
      ...mounted.flatMap(({ volumeId, path, podUid }) =>
        (podUid === undefined ? used.has(volumeId) : uses(podUid)) ? [] : [`${volumeId} is left at ${path}`],
      ),
      ...lines.flatMap((line) => {
        const [kind, path = ''] = line.split(' ');
        if (kind === 'mount' || !path.startsWith(staging)) return [];
        const [name = ''] = path.slice(staging.length).split('/');
        const isStaged = mounted.some((volume) => volume.path.startsWith(`${staging}${name}/`));
        return isStaged ? [] : [`${kind} ${path} is left`];
      }),
    ];
  }
}

export function volumeOf(claim: string): string {
  return `vol-${claim}`;
}

/** Claims that only one pod may use have names of their own. */
export function claimName(mode: ClaimMode, number: number): string {
  return `${mode}-${number}`;
}
