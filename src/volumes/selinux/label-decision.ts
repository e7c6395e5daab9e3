/** Decides whether a volume is mounted with an SELinux label, and which, so that nobody must relabel its files. */
import { goQuote, type Pod, podContainers, type SELinuxOptions } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { csiLimits } from '../csi/limits.js';
import type { FileLabel } from './file-label.js';

/** What the containers of a pod that mount a volume ask for. */
export interface AskedLabels {
  /** Distinct and sorted. */
  readonly labels: readonly string[];
  /** Whether a container leaves its level to the runtime: nobody knows it before the container runs. */
  readonly isOpen: boolean;
  /** Why a container's options make no label. */
  readonly problem: string | undefined;
}

/** Containers without options do not count, nor do those that use the volume as a device. */
export function askedLabels(pod: Pod, volumeNames: readonly string[], fileLabel: FileLabel): AskedLabels {
  const labels = new Set<string>();
  let isOpen = false;
  let problem: string | undefined;
  for (const { container } of podContainers(pod)) {
    if (!(container.volumeMounts ?? []).some(({ name }) => volumeNames.includes(name))) continue;
    const options = container.securityContext?.seLinuxOptions ?? pod.spec.securityContext?.seLinuxOptions;
    if (options === undefined || Object.values(options).every((value) => (value ?? '') === '')) continue;
    const wrong = optionsProblem(options);
    problem ??= wrong;
    if (wrong !== undefined) continue;
    const { user = '', level = '' } = options;
    if (level === '') isOpen = true;
    else labels.add([user === '' ? fileLabel.user : user, fileLabel.role, fileLabel.type, level].join(':'));
  }
  return { labels: [...labels].sort(), isOpen, problem };
}

/** They become a part of a mount option, within quotes. */
const plainPart = { user: /^[\w.-]*$/, level: /^[\w.,:-]*$/ } as const;

function optionsProblem(options: SELinuxOptions): string | undefined {
  for (const part of ['user', 'level'] as const) {
    const text = options[part] ?? '';
    if (text.length > csiLimits.seLinuxPartChars) {
      return `seLinuxOptions.${part} is longer than ${csiLimits.seLinuxPartChars} characters`;
    }
    if (!plainPart[part].test(text)) return `seLinuxOptions.${part} ${goQuote(text)} is no SELinux ${part}`;
  }
  return undefined;
}

/** What was found, as metrics name it. */
export type LabelFinding = 'container' | 'pod_context_mismatch' | 'volume_context_mismatch';

export type LabelDecision =
  | { readonly kind: 'refused'; readonly finding: LabelFinding; readonly problem: string }
  | {
      readonly kind: 'decided';
      /** Empty: mounted without one, and relabelled by the runtime. */
      readonly label: string;
      /** The same if volumes of all access modes were mounted with their labels. */
      readonly labelInAllModes: string;
      /** What would have been refused. */
      readonly warning?: LabelFinding | undefined;
    };

export interface LabelInput {
  readonly asked: AskedLabels;
  readonly spec: VolumeSpec;
  /** Whether the volume can be mounted with a label: its driver says so. */
  readonly isSupported: boolean;
  /** The pod's `seLinuxChangePolicy`. */
  readonly changePolicy: string | undefined;
  /** Whether volumes of all access modes are mounted with labels, or only those for one pod. */
  readonly allModes: boolean;
}

export function decideLabel({ asked, spec, isSupported, changePolicy, allModes }: LabelInput): LabelDecision {
  const isHeld = spec.kind === 'persistent' && (allModes || isForOnePod(spec));
  const isPossible = spec.kind === 'persistent' && isSupported && changePolicy !== 'Recursive';
  const unlabelled = { kind: 'decided', label: '', labelInAllModes: '' } as const;
  if (asked.labels.length > 1) {
    const problem = `multiple SELinux labels found: ${asked.labels.join(',')}`;
    const finding = 'pod_context_mismatch';
    return isHeld ? { kind: 'refused', finding, problem } : { ...unlabelled, warning: finding };
  }
  // Where the label is not used, it is the runtime's to judge the options.
  if (!isPossible) return unlabelled;
  if (asked.problem !== undefined) {
    const finding = 'container';
    return isHeld
      ? { kind: 'refused', finding, problem: asked.problem }
      : { ...unlabelled, warning: finding };
  }
  const [label = ''] = asked.isOpen ? [] : asked.labels;
  return { kind: 'decided', label: isHeld ? label : '', labelInAllModes: label };
}

function isForOnePod({ persistentVolume }: Extract<VolumeSpec, { kind: 'persistent' }>): boolean {
  const { accessModes = [] } = persistentVolume.spec;
  return accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod';
}

export interface LabelledVolume {
  readonly innerName: string;
  readonly label: string;
  readonly labelInAllModes: string;
}

/** All pods that use a volume at the same time have it with the same label. */
export function labelConflict(
  others: readonly LabelledVolume[],
  wanted: LabelledVolume,
): { readonly kind: 'none' | 'warning' } | { readonly kind: 'refused'; readonly problem: string } {
  const other = others.find(({ label }) => label !== wanted.label);
  if (other !== undefined) {
    const labels = `${goQuote(other.label)} and ${goQuote(wanted.label)}`;
    return {
      kind: 'refused',
      problem: `conflicting SELinux labels of volume ${wanted.innerName}: ${labels}`,
    };
  }
  const wouldConflict = others.some(({ labelInAllModes }) => labelInAllModes !== wanted.labelInAllModes);
  return { kind: wouldConflict ? 'warning' : 'none' };
}

const modeNames = [
  ['ReadWriteMany', 'RWX'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteOnce', 'RWO'],
  ['ReadWriteOncePod', 'RWOP'],
] as const;

/** As metrics name the access mode: the widest that the volume has. */
export function accessModeLabel(spec: VolumeSpec): string {
  if (spec.kind === 'inline') return 'inline';
  const { accessModes = [] } = spec.persistentVolume.spec;
  return modeNames.find(([mode]) => accessModes.includes(mode))?.[1] ?? '';
}

/** The mount option; no part of the label has quotes. */
export function labelOption(label: string): string {
  return `context="${label}"`;
}
