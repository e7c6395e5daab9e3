/** The text of docs/configuration.md: every field, flag and feature gate, and whether this build acts on it. */

import { featureGateSpecs } from '../../src/config/feature-gate-table.js';
import {
  type ConfigField,
  configFields,
  defaultKubeletFlags,
  flagSpecs,
  inertSettings,
  type KubeletFlag,
} from '../../src/config/index.js';
import { formatDuration } from '../../src/kube/index.js';
import {
  actedOnFields,
  actedOnGates,
  clusterFlags,
  inertFlags,
  partlyActedOnGates,
} from '../../src/kubelet/acted-on.js';

const head = `# Configuration

Every field of \`KubeletConfiguration\`, every flag and every feature gate that nodelet accepts. \`npm run docs\` writes this page
from the tables of the program, and \`npm run check\` fails while it is old.

A setting that the column _effect_ marks with – is read and checked as the reference does it, and changes nothing. The agent names
such settings in one line of its log at start-up, if their values differ from the defaults.
`;

export function configurationDocs(): string {
  return [head, fieldsPart(), flagsPart(), gatesPart()].join('\n');
}

/** Cells are not padded: a new row changes one line of the page. */
function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return `${[line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const code = (text: string): string => (text === '' ? '' : `\`${text}\``);
const effect = (has: boolean): string => (has ? 'yes' : '–');

function fieldsPart(): string {
  const inert = new Set(inertSettings(new Set(configFields.map(({ path }) => path)), actedOnFields).paths);
  const rows = configFields.map((field) => [
    code(field.path),
    escaped(field.about),
    code(fieldDefault(field)),
    effect(!inert.has(field.path)),
  ]);
  return [
    '## Fields',
    '',
    `${configFields.length} fields, ${configFields.length - inert.size} with an effect.`,
    '',
    table(['field', 'meaning', 'default', 'effect'], rows),
  ].join('\n');
}

function fieldDefault({ kind, default: value }: ConfigField): string {
  if (value === undefined || value === '') return '';
  if (typeof value === 'number' && kind.startsWith('duration')) return formatDuration(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function flagsPart(): string {
  const rows = flagSpecs.flatMap((flag) => (flag.target.to === 'config' ? [] : [flagRow(flag)]));
  const twins = flagSpecs.flatMap(({ name, target }) =>
    target.to === 'config' ? [[code(`--${name}`), code(target.path)]] : [],
  );
  return [
    '## Flags',
    '',
    'Flags of their own. _cluster_: without an effect on a node without `--kubeconfig`.',
    '',
    table(['flag', 'meaning', 'default', 'effect'], rows),
    'Flags that set a field, and have its effect. A flag wins over the file.',
    '',
    table(['flag', 'field'], twins),
  ].join('\n');
}

function flagRow({ name, about = '', target, deprecated }: KubeletFlag): string[] {
  const meaning = deprecated === undefined ? about : `${about} (old: ${deprecated})`;
  if (target.to !== 'kubelet') return [code(`--${name}`), escaped(meaning), '', 'yes'];
  const value = defaultKubeletFlags[target.key];
  const isTime = target.key.endsWith('Ms');
  const fallback =
    typeof value === 'number' && isTime
      ? formatDuration(value)
      : typeof value === 'object'
        ? ''
        : String(value);
  const has = clusterFlags.has(target.key) ? 'cluster' : effect(!inertFlags.has(target.key));
  return [code(`--${name}`), escaped(meaning), code(fallback), has];
}

function gatesPart(): string {
  const acted: ReadonlySet<string> = actedOnGates;
  const partly: ReadonlyMap<string, string> = partlyActedOnGates;
  const gates = [...featureGateSpecs].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = gates.map(([name, { stage, default: isOn, locked }]) => [
    code(name),
    stage,
    `${isOn ? 'on' : 'off'}${locked ? ', locked' : ''}`,
    partly.has(name) ? `in part: ${partly.get(name)}` : effect(acted.has(name)),
  ]);
  return [
    '## Feature gates',
    '',
    'All gates that a Kubernetes component of this release accepts; many are of other components. A gate without an effect',
    'cannot change anything here: what it stands for is as the gate has it by default, or is not there.',
    `${gates.length} gates, ${acted.size} with an effect.`,
    '',
    table(['gate', 'stage', 'default', 'effect'], rows),
  ].join('\n');
}
