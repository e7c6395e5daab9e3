/** Decides which volumes of a pod to measure and how, from where each is mounted. */
import type { Pod, Volume } from '../../kube/index.js';

export interface VolumeMeasure {
  readonly name: string;
  /** Names it in messages, too; of a block volume only that. */
  readonly directory: string;
  /** Whether to measure the tree below the directory, or the whole file system mounted there, or to ask the volume's driver. */
  readonly by: 'tree' | 'fileSystem' | 'driver';
  /** The driver to ask. */
  readonly driver?: string;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly isEphemeral: boolean;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

/** By the plugin's directory in each pod. Other volumes, such as hostPaths, are not measured. */
const measures: ReadonlyMap<string, VolumeMeasure['by']> = new Map([
  ['kubernetes.io~empty-dir', 'tree'],
  ['kubernetes.io~configmap', 'tree'],
  ['kubernetes.io~secret', 'tree'],
  ['kubernetes.io~projected', 'tree'],
  ['kubernetes.io~downward-api', 'tree'],
  ['kubernetes.io~local-volume', 'fileSystem'],
  ['kubernetes.io~nfs', 'fileSystem'],
  ['kubernetes.io~csi', 'driver'],
]);

/** `directoryOf` returns where a volume is mounted, if it is. */
export function volumeMeasures(
  pod: Pod,
  directoryOf: (volumeName: string) => string | undefined,
  driverOf: (volumeName: string) => string | undefined = () => undefined,
): VolumeMeasure[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const mounted = directoryOf(volume.name);
    const served = driverOf(volume.name);
    // A block volume has no directory, but its driver knows its size.
    if (mounted === undefined && served === undefined) return [];
    const directory = mounted ?? `volume ${volume.name} of pod ${pod.metadata.uid}`;
    const by =
      mounted === undefined ? 'driver' : measures.get(pluginDirectory(mounted, pod.metadata.uid) ?? '');
    if (by === undefined) return [];
    const claim = claimName(pod, volume);
    const pvcRef = claim === undefined ? {} : { pvcRef: { name: claim, namespace: pod.metadata.namespace } };
    const asked = by === 'driver' && served !== undefined ? { driver: served } : {};
    return [{ name: volume.name, directory, by, isEphemeral: isEphemeral(volume), ...asked, ...pvcRef }];
  });
}

/** The plugin part of `…/pods/<uid>/volumes/<plugin>/<name>`; CSI drivers mount one level below, at `mount`. */
function pluginDirectory(directory: string, podUid: string): string | undefined {
  const names = directory.split('/');
  const isCsi = names.at(-1) === 'mount' && names.at(-3) === 'kubernetes.io~csi';
  const [pods, uid, volumes, plugin] = isCsi ? names.slice(-6) : names.slice(-5);
  return pods === 'pods' && uid === podUid && volumes === 'volumes' ? plugin : undefined;
}

function claimName(
  { metadata }: Pod,
  { name, persistentVolumeClaim, ephemeral }: Volume,
): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name}-${name}`;
}

/** Volumes that take space on the node's disk and are removed with the pod. */
function isEphemeral({ emptyDir, configMap }: Volume): boolean {
  return configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? '') === '');
}
