/** Decides which labels a node may give itself with `--node-labels`. */
import { labelKeyProblems, labelValueProblems } from './label-syntax.js';

const allowedKeys: ReadonlySet<string> = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const reservedNamespaces = ['kubernetes.io', 'k8s.io'];
const allowedNamespaces = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** Returns what is wrong with the labels; undefined when they are valid. */
export function nodeLabelsProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const unknown = Object.keys(labels)
    .filter((key) => !mayLabelItself(key))
    .sort();
  if (unknown.length > 0) {
    return (
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.join(' ')}]; ` +
      `such a key must be below ${allowedNamespaces.join(' or ')}, or one of ${[...allowedKeys].join(', ')}`
    );
  }
  const invalid: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    const ofKey = labelKeyProblems(key);
    const ofValue = labelValueProblems(value);
    if (ofKey.length > 0) invalid.push(`'${key}' - ${ofKey.join('; ')}`);
    if (ofValue.length > 0) invalid.push(`'${value}' - ${ofValue.join('; ')}`);
  }
  return invalid.length > 0 ? `invalid node labels: ${invalid.join('; ')}` : undefined;
}

function mayLabelItself(key: string): boolean {
  const slash = key.indexOf('/');
  const namespace = slash === -1 ? '' : key.slice(0, slash);
  if (!isWithin(namespace, reservedNamespaces)) return true;
  return allowedKeys.has(key) || isWithin(namespace, allowedNamespaces);
}

function isWithin(namespace: string, roots: readonly string[]): boolean {
  return roots.some((root) => namespace === root || namespace.endsWith(`.${root}`));
}
