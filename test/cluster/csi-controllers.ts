/** What a cluster runs beside a storage driver: makes volumes for claims, deletes them, attaches and detaches them. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
  quantityValue,
} from '../../src/kube/index.js';
import { ApiError, type KubeApi, resources, type VolumeAttachment } from '../../src/kube-client/index.js';
import { VolumeCapability_AccessMode_Mode } from '../../src/volumes/csi/gen/csi.js';
import type { CsiDriverProcess } from '../env/csi-driver/driver-process.js';
import { Controller } from '../env/csi-driver/gen/controller.js';
import type { CleanupStack } from '../env/index.js';

const pauseMs = 100;
const volumeCapability = {
  accessType: { case: 'mount', value: {} },
  accessMode: { mode: VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
} as const;

/** The storage class of a driver has its name. */
export function storageClass(driver: string): object {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: driver },
    provisioner: driver,
    reclaimPolicy: 'Delete',
    allowVolumeExpansion: true,
  };
}

/** Works until the cleanups run. What fails, because the driver is away for one, is done in a later round. */
export function startCsiControllers(
  api: KubeApi,
  drivers: readonly CsiDriverProcess[],
  cleanups: CleanupStack,
): void {
  const ended = new AbortController();
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      for (const driver of drivers) {
        const controllers = new CsiControllers(api, driver);
        await controllers.round().catch(() => undefined);
      }
      await sleep(pauseMs);
    }
  };
  const running = run();
  cleanups.defer('the controllers of storage drivers', async () => {
    ended.abort();
    await running;
  });
}

class CsiControllers {
  readonly #api: KubeApi;
  readonly #driver: CsiDriverProcess;

  constructor(api: KubeApi, driver: CsiDriverProcess) {
    this.#api = api;
    this.#driver = driver;
  }

  /** The later kinds go on when an earlier one fails. */
  async round(): Promise<void> {
    if (!this.#driver.isRunning) return;
    const claims = (await this.#api.list(resources.persistentVolumeClaims)).items;
    const volumes = (await this.#api.list(resources.persistentVolumes)).items;
    const attachments = (await this.#api.list(resources.volumeAttachments)).items;
    const work = [
      ...claims.filter((claim) => this.#isUnbound(claim)).map((claim) => () => this.#provision(claim)),
      ...attachments
        .filter(({ spec }) => spec.attacher === this.#driver.name)
        .map((attachment) => () => this.#attachOrDetach(attachment, volumes)),
      ...volumes.filter((volume) => this.#isReleased(volume)).map((volume) => () => this.#delete(volume)),
    ];
    await Promise.all(work.map((piece) => piece().catch(() => undefined)));
  }

  #isUnbound({ metadata, spec, status }: PersistentVolumeClaim): boolean {
    const isOurs = spec.storageClassName === this.#driver.name && metadata.deletionTimestamp === undefined;
    return isOurs && status?.phase !== 'Bound' && !spec.volumeName;
  }

  #isReleased({ spec, status }: PersistentVolume): boolean {
    return spec.csi?.driver === this.#driver.name && status?.phase === 'Released';
  }

  async #provision({ metadata, spec }: PersistentVolumeClaim): Promise<void> {
    const name = `pvc-${metadata.uid}`;
    const requested = spec.resources?.requests?.storage ?? '64Mi';
    const { volume } = await this.#driver.controller(Controller.createVolume, {
      name,
      capacityRange: { requiredBytes: Number(quantityValue(parseQuantity(requested))) },
      volumeCapabilities: [volumeCapability],
    });
    const object: PersistentVolume = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name, uid: '' },
      spec: {
        capacity: { storage: requested },
        accessModes: spec.accessModes ?? ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: this.#driver.name,
        claimRef: {
          kind: 'PersistentVolumeClaim',
          namespace: metadata.namespace ?? 'default',
          name: metadata.name,
          uid: metadata.uid,
        },
        csi: { driver: this.#driver.name, volumeHandle: volume?.volumeId ?? name },
        ...(spec.volumeMode === undefined ? {} : { volumeMode: spec.volumeMode }),
      },
    };
    await this.#api.create(resources.persistentVolumes, object).catch(ignore('AlreadyExists'));
  }

  async #delete({ metadata, spec }: PersistentVolume): Promise<void> {
    const volumeId = spec.csi?.volumeHandle ?? '';
    await this.#driver.controller(Controller.deleteVolume, { volumeId });
    await this.#api
      .delete(resources.persistentVolumes, { name: metadata.name ?? '' })
      .catch(ignore('NotFound'));
  }

  async #attachOrDetach(attachment: VolumeAttachment, volumes: readonly PersistentVolume[]): Promise<void> {
    const { metadata, spec, status } = attachment;
    const { name = '' } = metadata;
    const volume = volumes.find((candidate) => candidate.metadata.name === spec.source.persistentVolumeName);
    const volumeId = volume?.spec.csi?.volumeHandle ?? '';
    if (metadata.deletionTimestamp !== undefined) {
      // From every node: there is only one, which may not have the driver any more.
      await this.#driver.controller(Controller.controllerUnpublishVolume, { volumeId });
      await this.#patch(name, { metadata: { finalizers: null } });
    } else if (status?.attached !== true) {
      await this.#patch(name, { metadata: { finalizers: [`external-attacher/${this.#driver.name}`] } });
      const published = await this.#driver.controller(Controller.controllerPublishVolume, {
        volumeId,
        nodeId: await this.#nodeId(spec.nodeName),
        volumeCapability,
      });
      const attached = { attached: true, attachmentMetadata: published.publishContext };
      await this.#patch(name, { status: attached }, 'status');
    }
  }

  /** How the driver calls the node. */
  async #nodeId(nodeName: string): Promise<string> {
    const { spec } = await this.#api.get(resources.csiNodes, { name: nodeName });
    const found = (spec.drivers ?? []).find(({ name }) => name === this.#driver.name);
    if (found === undefined) throw new Error(`${nodeName} has no driver ${this.#driver.name}`);
    return found.nodeID;
  }

  async #patch(name: string, body: object, subresource?: 'status'): Promise<void> {
    await this.#api.patch(
      resources.volumeAttachments,
      { name },
      { type: 'merge', body },
      subresource === undefined ? {} : { subresource },
    );
  }
}

function ignore(reason: string): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ApiError) || error.reason !== reason) throw error;
    return undefined;
  };
}
