/** A cluster of one machine with a CSI driver whose volumes a controller attaches and detaches, and what must hold at all times. */
import { type CsiDriver, resources } from '../../src/kube-client/index.js';
import { attachmentName } from '../../src/volumes/csi/names.js';
import { ClusterMachine, type Member, type MemberOptions, startMember } from './cluster-machine.js';
import { SimulatedCsiDriver } from './csi-driver.js';
import { isStagingPath } from './csi-driver-volumes.js';
import { CsiLine } from './csi-line.js';
import { nodeName } from './node.js';
import { Outside, rootDir } from './volume-node.js';

export interface CsiMember {
  readonly member: Member;
  readonly line: CsiLine;
  crash(): Promise<void>;
}

export class CsiClusterMachine {
  readonly on = new ClusterMachine();
  readonly driver = new SimulatedCsiDriver({
    clock: this.on.machine.time,
    machine: this.on.files,
    rootDir,
    usersOf: (path) => this.on.machine.usersOf(path),
  });
  readonly outside = new Outside(this.on.files);
  /** What must never be, and was. */
  readonly violations = new Set<string>();
  /** Volumes that may be published once only. */
  readonly #once = new Set<string>();
  #inUse: readonly string[] = [];
  #isAttached = true;
  isReachable = true;

  uniqueName(volumeId: string): string {
    return `kubernetes.io/csi/${this.driver.name}^${volumeId}`;
  }

  async begin(spec: Partial<CsiDriver['spec']> = {}): Promise<void> {
    this.#isAttached = spec.attachRequired !== false;
    await this.on.api.create(resources.csiDrivers, {
      metadata: { name: this.driver.name },
      spec: {
        attachRequired: true,
        fsGroupPolicy: 'ReadWriteOnceWithFSType',
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        ...spec,
      },
    });
    await this.driver.start();
  }

  /** A PersistentVolume `pv-<name>` with the handle `vol-<name>`, and the claim of the name that is bound to it. */
  async volume(name: string, accessModes: readonly string[], csi: object = {}): Promise<void> {
    const { api } = this.on;
    if (accessModes.join() === 'ReadWriteOncePod') this.#once.add(`vol-${name}`);
    const claim = await api.create(resources.persistentVolumeClaims, {
      metadata: { name, namespace: 'default' },
      spec: { accessModes: [...accessModes], volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    });
    await api.create(resources.persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        accessModes: [...accessModes],
        capacity: { storage: '1Gi' },
        claimRef: {
          namespace: 'default',
          name,
          ...(claim.metadata.uid === undefined ? {} : { uid: claim.metadata.uid }),
        },
        csi: { driver: this.driver.name, volumeHandle: `vol-${name}`, ...csi },
      },
    });
  }

  async start(options: Pick<MemberOptions, 'seed' | 'kubelet'> = {}): Promise<CsiMember> {
    const line = new CsiLine({ drivers: [this.driver] });
    const { call, openPluginSocket } = line;
    const kubelet = { csi: { call }, openPluginSocket, ...options.kubelet };
    const member = await startMember({ ...options, on: this.on, kubelet });
    const crash = async (): Promise<void> => {
      line.cut();
      await member.crash();
    };
    return { member, line, crash };
  }

  setReachable(isReachable: boolean): void {
    this.isReachable = isReachable;
    this.on.api.setReachable(isReachable);
  }

  async reboot(): Promise<void> {
    this.driver.kill();
    this.on.machine.reboot();
    this.on.files.reboot();
    await this.driver.start();
  }

  /** One round of the controller that attaches what pods use, and detaches what nobody uses and no node reports in use. */
  async control(): Promise<void> {
    if (!this.isReachable) return;
    const { api } = this.on;
    const node = await api.get(resources.nodes, { name: nodeName }).catch(() => undefined);
    if (node === undefined) return;
    this.#inUse = node.status?.volumesInUse ?? [];
    const used = new Set(
      (await api.list(resources.pods)).items.flatMap(({ spec }) =>
        (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
          claim === undefined ? [] : [`vol-${claim.claimName}`],
        ),
      ),
    );
    const attached = new Set((node.status?.volumesAttached ?? []).map(({ name }) => name));
    const before = [...attached].join();
    for (const volumeId of used) attached.add(this.uniqueName(volumeId));
    const mounted = await this.driver.volumes.mounted();
    for (const name of [...attached]) {
      const volumeId = name.slice(name.indexOf('^') + 1);
      const ref = { name: attachmentName({ driver: this.driver.name, handle: volumeId }, nodeName) };
      if (used.has(volumeId)) {
        await api
          .create(resources.volumeAttachments, {
            metadata: ref,
            spec: { attacher: this.driver.name, nodeName, source: { persistentVolumeName: volumeId } },
            status: { attached: true },
          })
          .catch(() => {});
      } else if (!this.#inUse.includes(name)) {
        if (mounted.has(volumeId)) this.violations.add(`${volumeId} is detached while it is mounted`);
        attached.delete(name);
        await api.delete(resources.volumeAttachments, ref).catch(() => {});
      }
    }
    if ([...attached].join() === before) return;
    const volumesAttached = [...attached].map((name) => ({ name, devicePath: '' }));
    await api.patch(
      resources.nodes,
      { name: nodeName },
      { type: 'merge', body: { status: { volumesAttached } } },
      { subresource: 'status' },
    );
  }

  /** Notes what must never be. */
  async check(): Promise<void> {
    for (const text of this.driver.volumes.violations) this.violations.add(text);
    if (this.isReachable) {
      const node = await this.on.api.get(resources.nodes, { name: nodeName }).catch(() => undefined);
      if (node !== undefined) this.#inUse = node.status?.volumesInUse ?? [];
    }
    for (const [volumeId, paths] of await this.driver.volumes.mounted()) {
      const published = paths.filter((path) => !isStagingPath(path));
      if (!volumeId.startsWith('vol-')) continue;
      if (paths.length === published.length)
        this.violations.add(`${volumeId} is published, and staged nowhere`);
      if (this.#once.has(volumeId) && published.length > 1)
        this.violations.add(`${volumeId} is published twice: ${published.join(', ')}`);
      if (this.#isAttached && !this.#inUse.includes(this.uniqueName(volumeId)))
        this.violations.add(`${volumeId} is mounted, and not in volumesInUse`);
    }
  }

  /** What is left of volumes; empty at rest. */
  async remains(): Promise<string[]> {
    const staged = `${rootDir}/plugins/kubernetes.io/csi/${this.driver.name}`;
    return [
      ...[...(await this.driver.volumes.mounted())].flatMap(([id, paths]) =>
        paths.map((path) => `${id} at ${path}`),
      ),
      ...(await this.outside.names(staged)).map((name) => `staged ${name}`),
      ...(await this.outside.pods()).map((name) => `pod ${name}`),
      ...this.#inUse.map((name) => `in use ${name}`),
    ];
  }
}
