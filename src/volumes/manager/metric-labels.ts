/** How metrics name the plugin of a volume: with its driver, where it has one. */
import { csiPluginName, parseDeviceName } from '../csi/names.js';
import type { PlannedOperation } from './plan.js';

export interface MeasuredVolume {
  readonly pluginName: string;
  readonly uniqueName: string;
  readonly driver?: string | undefined;
}

/** `kubernetes.io/csi:ebs.csi.aws.com`, or the plugin's name. */
export function pluginLabel({ pluginName, uniqueName, driver }: MeasuredVolume): string {
  const known = driver ?? (pluginName === csiPluginName ? parseDeviceName(uniqueName)?.driver : undefined);
  return known === undefined ? pluginName : `${pluginName}:${known}`;
}

/** Only of what is set up it is known what it was before. */
export function isMigrated(operation: PlannedOperation): boolean {
  if (!('wanted' in operation)) return false;
  const { spec } = operation.wanted;
  return spec.kind === 'persistent' && spec.isMigrated === true;
}
