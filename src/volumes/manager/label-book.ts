/** Gives the volumes that pods want their SELinux labels, on a machine that has SELinux; counts what does not fit. */
import { errorText } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import { type Pod, podContainers } from '../../kube/index.js';
import type { VolumePlugin } from '../contracts.js';
import type { VolumeMetrics } from '../metrics.js';
import {
  accessModeLabel,
  askedLabels,
  decideLabel,
  type FileLabel,
  type LabelFinding,
  labelConflict,
  readFileLabel,
} from '../selinux/index.js';
import { maxProblems } from './processing.js';
import { type ActualState, type DesiredState, mountKey, type WantedMount } from './states.js';

export interface LabelBookOptions {
  /** Whether the machine has SELinux; without it nothing is read, and no volume has a label. */
  readonly isEnabled: boolean;
  /** Whether volumes of all access modes are mounted with labels, or only those for one pod. */
  readonly allModes: boolean;
  readonly metrics: VolumeMetrics;
  readonly plugin: (wanted: WantedMount) => VolumePlugin;
  readonly host: Host;
  /** Called once if the machine does not tell what labels are made of; then no volume has one. */
  readonly onUnknown: (error: unknown) => void;
}

export class LabelBook {
  readonly #options: LabelBookOptions;
  #fileLabel: FileLabel | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: LabelBookOptions) {
    this.#options = options;
  }

  /** Must come before the labels of the pod's volumes. What they are made of is read once, when the first pod asks. */
  async prepare(pod: Pod): Promise<void> {
    const { isEnabled, host, onUnknown } = this.#options;
    if (!isEnabled || !hasOptions(pod)) return;
    this.#reading ??= readFileLabel(host).then((label) => {
      this.#fileLabel = label;
    }, onUnknown);
    await this.#reading;
  }

  /** What an earlier run left has its label only where labels mean something. */
  known<T extends { readonly seLinuxLabel?: string | undefined }>(volumes: readonly T[]): readonly T[] {
    if (this.#options.isEnabled) return volumes;
    return volumes.map((volume) => ({ ...volume, seLinuxLabel: undefined }));
  }

  /** A pod's volumes with their labels, without those that cannot have the one that is wanted; the texts say why. */
  labelled(
    wanted: Iterable<WantedMount>,
    desired: DesiredState,
    actual: ActualState,
  ): { readonly mounts: readonly WantedMount[]; readonly problems: readonly string[] } {
    if (!this.#options.isEnabled) return { mounts: [...wanted], problems: [] };
    const mounts: WantedMount[] = [];
    const problems = new Set<string>();
    for (const mount of wanted) {
      try {
        mounts.push(this.#labelled(mount, desired, actual));
      } catch (error) {
        if (problems.size < maxProblems) problems.add(errorText(error));
      }
    }
    return { mounts, problems: [...problems] };
  }

  /** A volume that the pod has already keeps its label: containers may be using it. */
  #labelled(wanted: WantedMount, desired: DesiredState, actual: ActualState): WantedMount {
    const key = mountKey(wanted);
    const before = desired.get(key);
    if (before !== undefined) {
      const { seLinuxLabel, seLinuxLabelInAllModes } = before;
      return { ...wanted, seLinuxLabel, seLinuxLabelInAllModes };
    }
    const mount = actual.mounts.get(key);
    if (mount !== undefined) {
      const { seLinuxLabel } = mount;
      return { ...wanted, seLinuxLabel, seLinuxLabelInAllModes: seLinuxLabel };
    }
    return this.#withoutConflict(this.#decided(wanted), desired);
  }

  #decided(wanted: WantedMount): WantedMount {
    const { spec, pod, volumeNames, mode } = wanted;
    if (this.#fileLabel === undefined || mode === 'Block') return wanted;
    const decision = decideLabel({
      asked: askedLabels(pod, volumeNames, this.#fileLabel),
      spec,
      isSupported: this.#options.plugin(wanted).supportsSELinuxMount?.(spec) === true,
      changePolicy: pod.spec.securityContext?.seLinuxChangePolicy,
      allModes: this.#options.allModes,
    });
    if (decision.kind === 'refused') {
      this.#count('errors', decision.finding, wanted);
      throw new Error(decision.problem);
    }
    if (decision.warning !== undefined) this.#count('warnings', decision.warning, wanted);
    const { label, labelInAllModes } = decision;
    return { ...wanted, seLinuxLabel: label, seLinuxLabelInAllModes: labelInAllModes };
  }

  #withoutConflict(wanted: WantedMount, desired: DesiredState): WantedMount {
    const others = [...desired.values()].filter(({ uniqueName }) => uniqueName === wanted.uniqueName);
    const conflict = labelConflict(others.map(labelsOf), labelsOf(wanted));
    if (conflict.kind === 'refused') {
      this.#count('errors', 'volume_context_mismatch', wanted);
      throw new Error(conflict.problem);
    }
    if (conflict.kind === 'warning') this.#count('warnings', 'volume_context_mismatch', wanted);
    if ((wanted.seLinuxLabel ?? '') !== '' && others.length === 0) {
      this.#options.metrics.seLinuxAdmitted.inc(volumeLabels(wanted));
    }
    return wanted;
  }

  #count(severity: 'errors' | 'warnings', finding: LabelFinding, wanted: WantedMount): void {
    const { seLinux } = this.#options.metrics;
    if (finding === 'volume_context_mismatch') seLinux[finding][severity].inc(volumeLabels(wanted));
    else seLinux[finding][severity].inc({ access_mode: accessModeLabel(wanted.spec) });
  }
}

function hasOptions(pod: Pod): boolean {
  if (pod.spec.securityContext?.seLinuxOptions !== undefined) return true;
  for (const { container } of podContainers(pod)) {
    if (container.securityContext?.seLinuxOptions !== undefined) return true;
  }
  return false;
}

function labelsOf({ innerName, seLinuxLabel = '', seLinuxLabelInAllModes = '' }: WantedMount) {
  return { innerName, label: seLinuxLabel, labelInAllModes: seLinuxLabelInAllModes };
}

/** These metrics name the driver in another way than the others. */
function volumeLabels({ pluginName, driver, spec }: WantedMount) {
  const volumePlugin = driver === undefined ? pluginName : `${pluginName}/${driver}`;
  return { volume_plugin: volumePlugin, access_mode: accessModeLabel(spec) };
}
