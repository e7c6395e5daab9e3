/** Computes which volumes a pod wants mounted, and which are no longer wanted. */
import { goQuote, type Pod, podContainers, type Volume } from '../../kube/index.js';
import { type ResolvedClaim, type VolumePlugin, type VolumeSpec, volumeModeOf } from '../contracts.js';
import { storageBytes } from '../expansion/index.js';
import { migratedSpec } from '../migration/index.js';
import {
  type ActualState,
  type DesiredState,
  mountKey,
  uniqueNameInPod,
  type WantedMount,
  type WantedSize,
} from './states.js';

/** How a pod's containers use its volumes, by volume name. */
export interface VolumeUses {
  readonly mounts: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
}

export function volumeUses(pod: Pod): VolumeUses {
  const mounts = new Set<string>();
  const devices = new Set<string>();
  for (const { container } of podContainers(pod)) {
    for (const { name } of container.volumeMounts ?? []) mounts.add(name);
    for (const { name } of container.volumeDevices ?? []) devices.add(name);
  }
  return { mounts, devices };
}

/** Volumes that some container uses; the others are never mounted. */
export function usedVolumes(pod: Pod): Volume[] {
  const { mounts, devices } = volumeUses(pod);
  return (pod.spec.volumes ?? []).filter(({ name }) => mounts.has(name) || devices.has(name));
}

/** Whether the volume names a claim, so the pod alone does not define it. */
export function namesClaim({ persistentVolumeClaim, ephemeral }: Volume): boolean {
  return persistentVolumeClaim !== undefined || ephemeral !== undefined;
}

/** A volume without a source is an emptyDir. */
export function volumeSpec(volume: Volume, claim: ResolvedClaim | undefined): VolumeSpec {
  if (claim !== undefined) {
    const { persistentVolume, readOnly } = claim;
    return { kind: 'persistent', volume, persistentVolume, readOnly };
  }
  const hasSource = Object.entries(volume).some(([key, value]) => key !== 'name' && value !== undefined);
  return { kind: 'inline', volume: hasSource ? volume : { ...volume, emptyDir: {} } };
}

/** Exactly one plugin must accept a volume. */
export function selectPlugin(plugins: readonly VolumePlugin[], spec: VolumeSpec): VolumePlugin {
  const matching = plugins.filter((plugin) => plugin.accepts(spec));
  const [plugin, second] = matching;
  if (plugin !== undefined && second === undefined) return plugin;
  const problem =
    plugin === undefined
      ? 'no volume plugin matched'
      : `multiple volume plugins matched: ${matching.map(({ name }) => name).join(',')}`;
  throw new Error(
    `failed to get Plugin from volumeSpec for volume ${goQuote(specName(spec))} err=${problem}`,
  );
}

/** Throws with what the user must change. */
export function wantedMount(
  pod: Pod,
  volume: Volume,
  claim: ResolvedClaim | undefined,
  plugins: readonly VolumePlugin[],
): WantedMount {
  const spec = migratedSpec(volumeSpec(volume, claim), pod);
  checkMode(volume.name, spec, volumeUses(pod));
  const plugin = selectPlugin(plugins, spec);
  const problem = plugin.problem?.(spec);
  if (problem !== undefined) throw new Error(`volume ${volume.name}: ${problem}`);
  const podUid = pod.metadata.uid;
  const innerName = plugin.innerName(spec);
  const deviceName = plugin.devices?.uniqueName(spec);
  const { refreshes } = plugin;
  return {
    uniqueName: deviceName ?? uniqueNameInPod(plugin.name, podUid, innerName),
    podUid,
    pluginName: plugin.name,
    innerName,
    mode: volumeModeOf(spec),
    volumeNames: [volume.name],
    hasDevice: deviceName !== undefined,
    driver: plugin.driverOf?.(spec),
    refreshes: typeof refreshes === 'function' ? refreshes(spec) : refreshes,
    pod,
    spec,
    extraGroup: claim?.extraGroup,
    size: plugin.expand === undefined ? undefined : wantedSize(claim),
  };
}

function wantedSize(resolved: ResolvedClaim | undefined): WantedSize | undefined {
  if (resolved?.claim === undefined) return undefined;
  const { metadata, status = {} } = resolved.claim;
  const state = status.allocatedResourceStatuses?.storage ?? '';
  // This node itself turns the one into the other.
  const stage = state === 'NodeResizeInProgress' ? 'NodeResizePending' : state;
  return {
    claim: { namespace: metadata.namespace ?? '', name: metadata.name ?? '', uid: metadata.uid ?? '' },
    claimBytes: storageBytes(status.capacity),
    volumeBytes: storageBytes(resolved.persistentVolume.spec.capacity),
    progress: `${stage} ${status.allocatedResources?.storage ?? ''} ${status.capacity?.storage ?? ''}`,
  };
}

function specName(spec: VolumeSpec): string {
  return spec.kind === 'inline' ? spec.volume.name : (spec.persistentVolume.metadata.name ?? '');
}

function checkMode(name: string, spec: VolumeSpec, uses: VolumeUses): void {
  const mode = volumeModeOf(spec);
  if (mode === 'Block' && uses.mounts.has(name)) {
    throw new Error(`volume ${name} has volumeMode Block, but is specified in volumeMounts`);
  }
  if (mode !== 'Block' && uses.devices.has(name)) {
    throw new Error(`volume ${name} has volumeMode ${mode}, but is specified in volumeDevices`);
  }
}

/** Merges a pod's mounts by key: two volumes that name the same claim are one mount. */
export function mergeWanted(mounts: readonly WantedMount[]): Map<string, WantedMount> {
  const merged = new Map<string, WantedMount>();
  for (const mount of mounts) {
    const known = merged.get(mountKey(mount));
    merged.set(
      mountKey(mount),
      known === undefined ? mount : { ...mount, volumeNames: [...known.volumeNames, ...mount.volumeNames] },
    );
  }
  return merged;
}

export interface RemovalInput {
  readonly desired: DesiredState;
  readonly actual: ActualState;
  /** Whether an operation on this mount is running. */
  readonly isBusy: (mount: WantedMount) => boolean;
  readonly isConfigured: (podUid: string) => boolean;
  readonly isRuntimeGone: (podUid: string) => boolean;
}

/**
 * Mounts no longer wanted: all volumes of pods with nothing running. While a pod is still configured, a mount
 * in progress stays wanted, so that its outcome is known before it is undone.
 */
export function unwantedMounts(input: RemovalInput): WantedMount[] {
  const unwanted: WantedMount[] = [];
  for (const [key, wanted] of input.desired) {
    if (!input.isRuntimeGone(wanted.podUid)) continue;
    const isKnown = input.actual.mounts.has(key);
    if (isKnown || !input.isConfigured(wanted.podUid) || !input.isBusy(wanted)) unwanted.push(wanted);
  }
  return unwanted;
}
