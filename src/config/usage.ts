/** The help text, made from the flag and field tables. */
import { formatDuration } from '../kube/index.js';
import { type Field, fieldsByPath } from './fields.js';
import { defaultKubeletFlags, type FlagKind, type FlagSpec, flagSpecs } from './flag-table.js';

export interface UsageOptions {
  /** How the program is started, for the examples. */
  readonly command: string;
}

export function usage({ command }: UsageOptions): string {
  const everyday = flagSpecs.filter((spec) => spec.deprecated === undefined);
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
    ...everyday.map(describeFlag),
    '',
    'Flags that set a field of the configuration file (prefer the file; a flag overrides it):',
    ...configBacked.map(describeFlag),
    '',
    'Old flags, accepted so that existing command lines work:',
    ...old.map(describeFlag),
    '',
    'Without --config the node is open, as in the reference: anonymous requests are accepted, everything is authorized',
    '(AlwaysAllow), the read-only port 10255 is on, and there is no webhook authentication and no hard eviction threshold.',
    'Underscores in flag names count as hyphens. Repeat a flag to add to its list or map.',
    '',
  ];
  return lines.join('\n');
}

function describeFlag(spec: FlagSpec): string {
  const short = spec.shorthand === undefined ? '    ' : `-${spec.shorthand}, `;
  const value = valueName(spec.kind);
  const head = `  ${short}--${spec.name}${value === '' ? '' : ` ${value}`}`;
  const field = spec.target.to === 'config' ? fieldsByPath.get(spec.target.path) : undefined;
  const fallback = defaultText(spec, field);
  const details = [
    spec.about,
    ...(field !== undefined && spec.deprecated !== undefined ? [`[${field.path}]`] : []),
    ...(fallback === '' ? [] : [`(default ${fallback})`]),
  ];
  return `${head.length < 46 ? head.padEnd(46) : `${head}\n${' '.repeat(46)}`}${details.join(' ')}`;
}

function defaultText(spec: FlagSpec, field: Field | undefined): string {
  const value = spec.target.to === 'kubelet' ? defaultKubeletFlags[spec.target.key] : field?.default;
  if (value === undefined || value === '' || value === false || value === 0) return '';
  if (typeof value === 'number' && (spec.kind === 'duration' || spec.kind === 'durationOrNanos')) {
    return formatDuration(value);
  }
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? '' : String(value);
}

function valueName(kind: FlagKind): string {
  switch (kind) {
    case 'bool':
    case 'version':
      return '';
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float':
      return 'N';
    case 'string':
      return 'TEXT';
    case 'duration':
    case 'durationOrNanos':
      return 'DURATION';
    case 'quantity':
      return 'QUANTITY';
    case 'ip':
      return 'IP';
    case 'stringList':
    case 'int32List':
    case 'podPriorityGracePeriods':
      return 'A,B';
    case 'stringMap':
    case 'labels':
      return 'KEY=VALUE';
    case 'lessThanMap':
      return 'SIGNAL<VALUE';
    case 'boolMap':
      return 'NAME=BOOL';
    case 'headerMap':
      return 'NAME:VALUE';
    case 'taints':
      return 'KEY=VALUE:EFFECT';
    case 'memoryReservations':
      return 'NODE:TYPE=QUANTITY';
    case 'vmodule':
      return 'PATTERN=N';
  }
}
