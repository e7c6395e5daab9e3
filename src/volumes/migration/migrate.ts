/** Turns volumes of in-tree plugins into volumes of the CSI drivers that serve them now. */
import { errorText } from '../../async/index.js';
import type { PersistentVolume, PersistentVolumeSpec, Pod, VolumeSource } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { generalTopology, type InTreePlugin, inTreePlugins } from './in-tree-sources.js';

/** The longest name of a directory. */
const longestNameBytes = 255;

type SourceField = keyof typeof inTreePlugins;
type Sources = Pick<VolumeSource, SourceField>;

interface InTreeSource {
  readonly field: SourceField;
  readonly source: object;
  readonly plugin: InTreePlugin<object>;
}

/** The spec as plugins see it: that of the driver for an in-tree volume, and any other as it is. Throws with what is wrong. */
export function migratedSpec(spec: VolumeSpec, pod: Pod): VolumeSpec {
  const found = inTreeSource(spec.kind === 'inline' ? spec.volume : spec.persistentVolume.spec);
  if (found === undefined) return spec;
  try {
    return spec.kind === 'inline' ? inlineSpec(spec, pod, found) : persistentSpec(spec, found);
  } catch (error) {
    throw new Error(`failed to translate in-tree pv to CSI: ${errorText(error)}`, { cause: error });
  }
}

function inTreeSource(sources: Sources): InTreeSource | undefined {
  for (const [field, plugin] of Object.entries(inTreePlugins)) {
    // Object.entries widens the keys; they are exactly the fields, and each plugin reads the source of its own field.
    const source = sources[field as SourceField];
    if (source !== undefined) {
      return { field: field as SourceField, source, plugin: plugin as unknown as InTreePlugin<object> };
    }
  }
  return undefined;
}

function persistentSpec(
  spec: Extract<VolumeSpec, { kind: 'persistent' }>,
  { field, source, plugin }: InTreeSource,
): VolumeSpec {
  const { metadata, spec: old } = spec.persistentVolume;
  const csi = plugin.csi(source, {
    name: metadata.name ?? '',
    metadata,
    namespace: old.claimRef?.namespace,
  });
  const { [field]: _, ...rest } = old;
  const { accessModes } = old;
  const persistentVolume: PersistentVolume = {
    ...spec.persistentVolume,
    spec: {
      ...rest,
      ...affinityOf(old, plugin),
      ...(accessModes === undefined
        ? {}
        : { accessModes: [...(plugin.modes?.(accessModes) ?? accessModes)] }),
      csi: { ...csi, driver: plugin.driver },
    },
  };
  return { ...spec, persistentVolume, isMigrated: true };
}

function inlineSpec(
  { volume }: Extract<VolumeSpec, { kind: 'inline' }>,
  pod: Pod,
  { source, plugin }: InTreeSource,
): VolumeSpec {
  const csi = plugin.csi(source, { name: volume.name, metadata: {}, namespace: pod.metadata.namespace });
  const name = plugin.inlineName(source, csi);
  checkName(name);
  return {
    kind: 'persistent',
    volume,
    persistentVolume: {
      metadata: { name },
      spec: {
        accessModes: [plugin.inlineMode(source)],
        volumeMode: 'Filesystem',
        csi: { ...csi, driver: plugin.driver },
      },
    },
    readOnly: csi.readOnly === true,
    isMigrated: true,
  };
}

/** It comes from a pod, and becomes the name of a directory, with `~` for each `/`. */
function checkName(name: string): void {
  if (name === '.' || name === '..' || name.includes('\0')) {
    throw new Error(`${JSON.stringify(name)} is no name of a volume`);
  }
  if (Buffer.byteLength(name) > longestNameBytes) {
    throw new Error(`the name of its volume is longer than ${longestNameBytes} bytes`);
  }
}

/** Nodes have the driver's labels, not those that the PersistentVolume names. */
function affinityOf(
  { nodeAffinity }: PersistentVolumeSpec,
  { topology }: InTreePlugin<object>,
): Pick<PersistentVolumeSpec, 'nodeAffinity'> {
  const terms = nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || topology === undefined) return {};
  const renamed = (key: string): string => {
    const kind = Object.hasOwn(generalTopology, key) ? generalTopology[key] : undefined;
    return (kind === undefined ? undefined : topology[kind]) ?? key;
  };
  return {
    nodeAffinity: {
      required: {
        nodeSelectorTerms: terms.map((term) => ({
          ...term,
          ...(term.matchExpressions === undefined
            ? {}
            : { matchExpressions: term.matchExpressions.map((one) => ({ ...one, key: renamed(one.key) })) }),
        })),
      },
    },
  };
}
