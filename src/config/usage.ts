/** Generates the help text of the kubelet's flags from the flag and field tables. */
import { flagHelp } from '../flags/index.js';
import { formatDuration } from '../kube/index.js';
import { type ConfigField, fieldsByPath } from './fields.js';
import { defaultKubeletFlags, flagSpecs, type KubeletFlag } from './flag-table.js';
import { durationType } from './flag-types.js';

export interface UsageOptions {
  /** The command that starts the program, for the examples. */
  readonly command: string;
}

export function usage({ command }: UsageOptions): string {
  const common = flagSpecs.filter((spec) => spec.deprecated === undefined);
  const configBacked = flagSpecs.filter(
    (spec) => spec.deprecated !== undefined && spec.target.to === 'config',
  );
  const old = flagSpecs.filter((spec) => spec.deprecated !== undefined && spec.target.to !== 'config');
  const lines = [
    'Runs the pods of one Kubernetes node.',
    '',
    'Usage:',
    `  ${command} [flags]`,
    '',
    'Examples:',
    `  ${command} --config /etc/kubernetes/kubelet.yaml`,
    `  ${command} --pod-manifest-path /etc/kubernetes/manifests          # static pods only, no API server`,
    `  ${command} --config kubelet.yaml --config-dir kubelet.conf.d      # with drop-ins (*.conf)`,
    `  ${command} --config kubelet.yaml --feature-gates=MemoryQoS=true -v 4`,
    '',
    'Flags:',
    ...describeFlags(common),
    '',
    'Flags that set a field of the configuration file (prefer the file; flags override it):',
    ...describeFlags(configBacked),
    '',
    'Old flags, accepted to keep existing command lines working:',
    ...describeFlags(old),
    '',
    'Without --config the node is open, as in the reference: it accepts anonymous requests, authorizes everything',
    '(AlwaysAllow), serves the read-only port 10255, and has no webhook authentication and no hard eviction thresholds.',
    'Underscores in flag names count as hyphens. Repeat a flag to add to its list or map.',
    '',
  ];
  return lines.join('\n');
}

function describeFlags(flags: readonly KubeletFlag[]): string[] {
  const specs = flags.map((flag) => [flag.name, { ...flag, about: aboutWithDefault(flag) }]);
  return flagHelp(Object.fromEntries(specs), { column: 46 });
}

function aboutWithDefault(flag: KubeletFlag): string {
  const field = flag.target.to === 'config' ? fieldsByPath.get(flag.target.path) : undefined;
  const fallback = defaultText(flag, field);
  const details = [
    flag.about,
    ...(field !== undefined && flag.deprecated !== undefined ? [`[${field.path}]`] : []),
    ...(fallback === '' ? [] : [`(default ${fallback})`]),
  ];
  return details.join(' ');
}

function defaultText({ target, type }: KubeletFlag, field: ConfigField | undefined): string {
  const value = target.to === 'kubelet' ? defaultKubeletFlags[target.key] : field?.default;
  if (value === undefined || value === '' || value === false || value === 0) return '';
  if (typeof value === 'number' && type === durationType) return formatDuration(value);
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? '' : String(value);
}
