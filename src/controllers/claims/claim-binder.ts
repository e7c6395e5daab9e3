/** Binds claims to volumes, and lets volumes and claims go when nobody uses them any more. */
import {
  claimReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  semanticEqual,
} from '../../kube/index.js';
import { isNotFound, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import { isFinished } from '../pods/pod-facts.js';
import { decideClaim, decideVolume, isOf, usesClaim } from './decide.js';
import { createEphemeralClaims } from './ephemeral-claims.js';

const component = 'persistentvolume-controller';
const boundAnnotations = {
  'pv.kubernetes.io/bind-completed': 'yes',
  'pv.kubernetes.io/bound-by-controller': 'yes',
};
const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

/** One controller for claims, one for volumes, and one for the claims that pods bring along. */
export function createClaimBinder(context: ControllerContext): readonly Controller[] {
  const { api, caches, events, nodeName } = context;
  const claims = caches.of(resources.persistentVolumeClaims);
  const volumes = caches.of(resources.persistentVolumes);
  const classes = caches.of(resources.storageClasses);
  const nodes = caches.of(resources.nodes);
  const pods = caches.of(resources.pods);

  // One at a time: two claims must not decide on the same volume.
  const claimQueue = queueOf(context, {
    name: 'claim binder',
    keys: resources.persistentVolumeClaims,
    sync: syncClaim,
    concurrentKeys: 1,
  });
  const volumeQueue = queueOf(context, {
    name: 'volume',
    keys: resources.persistentVolumes,
    sync: syncVolume,
  });
  const retryClaims = (): void => {
    for (const claim of claims.list())
      if (claim.status?.phase !== 'Bound') claimQueue.add(keyOfObject(claim));
  };
  volumes.onChange(({ before, after }) => {
    retryClaims();
    const { claimRef } = (after ?? before)?.spec ?? {};
    if (claimRef?.name !== undefined)
      claimQueue.add(keyOf({ namespace: claimRef.namespace ?? '', name: claimRef.name }));
  });
  classes.onChange(retryClaims);
  claims.onChange(({ before, after }) => {
    const name = (after ?? before)?.spec.volumeName;
    if (name) volumeQueue.add(keyOf({ name }));
    for (const volume of after === undefined ? volumes.list() : [])
      if (before !== undefined && isOf(volume, before)) volumeQueue.add(keyOfObject(volume));
  });
  pods.onChange(({ before, after }) => {
    if (before === undefined || (after !== undefined && !isFinished(after))) return;
    for (const volume of before.spec.volumes ?? []) {
      const reference = claimReference(before, volume);
      if (reference !== undefined) claimQueue.add(keyOf(reference));
    }
  });

  async function syncClaim(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const claim = claims.get(refOfKey(key));
    if (claim === undefined) return {};
    if (claim.metadata.deletionTimestamp !== undefined) {
      if (!isUsed(claim)) await unprotect(claim, claimFinalizer, signal);
      return {};
    }
    const decision = decideClaim({
      claim,
      volumes: volumes.list(),
      storageClass: classes.get({ name: claim.spec.storageClassName ?? '' }),
      node: nodes.get({ name: nodeName }),
    });
    const resource = resources.persistentVolumeClaims;
    switch (decision.kind) {
      case 'none':
        return {};
      case 'bind':
        await bind(claim, decision.volume, signal);
        return {};
      case 'lost':
        if (claim.status?.phase !== 'Lost') {
          await writePhase(claim, { phase: 'Lost' }, signal);
          events.record({
            component,
            resource,
            object: claim,
            type: 'Warning',
            reason: 'ClaimLost',
            message: decision.message,
          });
        }
        return {};
      case 'wait': {
        const type =
          decision.reason === 'VolumeMismatch' || decision.reason === 'ProvisioningFailed'
            ? 'Warning'
            : 'Normal';
        events.record({
          component,
          resource,
          object: claim,
          type,
          reason: decision.reason,
          message: decision.message,
        });
        if (claim.status?.phase === undefined) await writePhase(claim, { phase: 'Pending' }, signal);
        return {};
      }
    }
  }

  function isUsed(claim: PersistentVolumeClaim): boolean {
    return pods.inNamespace(claim.metadata.namespace ?? '').some((pod) => usesClaim(pod, claim));
  }

  async function bind(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<void> {
    const { name = '', namespace = '', uid = '' } = claim.metadata;
    if (volume.spec.claimRef?.uid !== uid) {
      const { resourceVersion } = volume.metadata;
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid };
      const annotations =
        volume.spec.claimRef === undefined ? { 'pv.kubernetes.io/bound-by-controller': 'yes' } : {};
      const body = { metadata: { resourceVersion, annotations }, spec: { claimRef } };
      await api.patch(resources.persistentVolumes, refOf(volume), { type: 'merge', body }, { signal });
    }
    let current = claim;
    if (claim.spec.volumeName !== volume.metadata.name) {
      const body = {
        metadata: { annotations: boundAnnotations },
        spec: { volumeName: volume.metadata.name },
      };
      current = await api.patch(
        resources.persistentVolumeClaims,
        refOf(claim),
        { type: 'merge', body },
        { signal },
      );
    }
    const { accessModes = [], capacity = {} } = volume.spec;
    await writePhase(current, { phase: 'Bound', accessModes, capacity }, signal);
  }

  async function writePhase(
    claim: PersistentVolumeClaim,
    status: NonNullable<PersistentVolumeClaim['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    const next = { ...claim.status, ...status };
    if (semanticEqual(claim.status, next)) return;
    await api.update(
      resources.persistentVolumeClaims,
      { ...claim, status: next },
      { subresource: 'status', signal },
    );
  }

  async function unprotect(
    object: PersistentVolume | PersistentVolumeClaim,
    finalizer: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { finalizers = [], resourceVersion } = object.metadata;
    if (!finalizers.includes(finalizer)) return;
    const body = { metadata: { resourceVersion, finalizers: finalizers.filter((one) => one !== finalizer) } };
    const resource =
      finalizer === claimFinalizer ? resources.persistentVolumeClaims : resources.persistentVolumes;
    await ignoreGone(
      api.patch<PersistentVolume | PersistentVolumeClaim>(
        resource,
        refOf(object),
        { type: 'merge', body },
        { signal },
      ),
    );
  }

  async function syncVolume(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const volume = volumes.get(refOfKey(key));
    if (volume === undefined) return {};
    const { claimRef } = volume.spec;
    const claim =
      claimRef?.name === undefined
        ? undefined
        : await currentClaim(claimRef.namespace ?? '', claimRef.name, signal);
    const decision = decideVolume(volume, claim);
    if (volume.metadata.deletionTimestamp !== undefined) {
      if (decision.kind === 'delete' || decision.phase !== 'Bound')
        await unprotect(volume, volumeFinalizer, signal);
      return {};
    }
    if (decision.kind === 'delete') {
      await ignoreGone(api.delete(resources.persistentVolumes, refOf(volume), { signal }));
      return {};
    }
    const { phase, message } = decision;
    if (volume.status?.phase === phase) return {};
    const status = { phase, ...(message === undefined ? {} : { message, reason: 'VolumeFailedRecycle' }) };
    await api.update(resources.persistentVolumes, { ...volume, status }, { subresource: 'status', signal });
    return {};
  }

  /** From the server: a copy that is behind must not release a volume. */
  async function currentClaim(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | undefined> {
    const known = claims.get({ namespace, name });
    return (
      known ?? (await ignoreGone(api.get(resources.persistentVolumeClaims, { namespace, name }, { signal })))
    );
  }

  return [
    { name: 'claim binder', run: (signal) => claimQueue.run(signal) },
    { name: 'volume', run: (signal) => volumeQueue.run(signal) },
    createEphemeralClaims(context),
  ];
}

async function ignoreGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
