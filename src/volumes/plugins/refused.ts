/** Volumes that this node does not mount, each with an explanation. */
import type { PersistentVolumeSpec, Volume } from '../../kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../contracts.js';
import { innerNameOf } from './inner-name.js';

export function gitRepoVolumes(): VolumePlugin {
  return refusing(
    'kubernetes.io/git-repo',
    (spec) => spec.kind === 'inline' && spec.volume.gitRepo !== undefined,
    () =>
      'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
  );
}

/** Accepts what no other plugin does, so users learn what is unsupported instead of that nothing matched. */
export function unsupportedVolumes(others: readonly VolumePlugin[]): VolumePlugin {
  return refusing(
    'nodelet/unsupported',
    (spec) => !others.some((plugin) => plugin.accepts(spec)),
    (spec) => {
      const name = JSON.stringify(spec.volume.name);
      if (spec.kind === 'inline') {
        return `volume ${name} is of kind ${kindOf(spec.volume)}, which this node does not support; use another kind of volume`;
      }
      return `volume ${name} leads to persistent volume ${JSON.stringify(innerNameOf(spec))} of kind ${persistentKind(spec.persistentVolume.spec)}, which this node does not support; use a hostPath, local or nfs one`;
    },
  );
}

function refusing(
  name: string,
  accepts: (spec: VolumeSpec) => boolean,
  refusal: (spec: VolumeSpec) => string,
): VolumePlugin {
  return {
    name,
    accepts,
    refreshes: false,
    ownsDirectory: false,
    // Users should see the refusal itself, whatever the options.
    supportsMountOptions: true,
    innerName: innerNameOf,
    traits: () => ({ managed: false, readOnly: true, relabel: false }),
    hostPath: () => undefined,
    setUp: async ({ spec }) => {
      throw new Error(refusal(spec));
    },
    tearDown: async () => {},
  };
}

function kindOf(volume: Volume): string {
  const [kind = 'unknown'] =
    Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined) ?? [];
  return kind;
}

/** Fields of a persistent volume other than its source. */
const generalFields: ReadonlySet<string> = new Set<keyof PersistentVolumeSpec>([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
]);

function persistentKind(spec: PersistentVolumeSpec): string {
  const [kind = 'unknown'] =
    Object.entries(spec).find(([key, value]) => !generalFields.has(key) && value !== undefined) ?? [];
  return kind;
}
