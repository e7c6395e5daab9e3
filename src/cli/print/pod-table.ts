/** The table of `nodelet get pods`. */

import { podRow } from '../../kube/pods/pod-row.js';
import type { Pod } from '../../kube/types/index.js';

export interface PodTableOptions {
  readonly wide: boolean;
  /** Adds a column with the namespace. */
  readonly allNamespaces: boolean;
  readonly showLabels: boolean;
}

export function podTableHeader({ wide, allNamespaces, showLabels }: PodTableOptions): string[] {
  return [
    ...(allNamespaces ? ['NAMESPACE'] : []),
    'NAME',
    'READY',
    'STATUS',
    'RESTARTS',
    'AGE',
    ...(wide ? ['IP', 'NODE', 'NOMINATED NODE', 'READINESS GATES'] : []),
    ...(showLabels ? ['LABELS'] : []),
  ];
}

export function podTableRow(pod: Pod, nowMs: number, options: PodTableOptions): string[] {
  const { namespace, name, ready, status, restarts, age } = podRow(pod, nowMs);
  const { wide, allNamespaces, showLabels } = options;
  return [
    ...(allNamespaces ? [namespace] : []),
    name,
    ready,
    status,
    restarts,
    age,
    ...(wide
      ? [
          pod.status?.podIP || '<none>',
          pod.spec.nodeName || '<none>',
          pod.status?.nominatedNodeName || '<none>',
          readinessGates(pod),
        ]
      : []),
    ...(showLabels ? [labelText(pod.metadata.labels)] : []),
  ];
}

/** `1/2`: passed gates of all. */
function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const passed = gates.filter(({ conditionType }) =>
    (status?.conditions ?? []).some(({ type, status: value }) => type === conditionType && value === 'True'),
  );
  return `${passed.length}/${gates.length}`;
}

function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}
