/** Decides whether a status is worth reporting, and builds the report. */

import {
  type Node,
  type NodeStatus,
  type ResourceList,
  semanticEqual,
  tryParseQuantity,
} from '../../kube/index.js';
import { mergeSchemaOf, resources, strategicMergeDiff } from '../../kube-client/index.js';

/** The parts of the status that differ, ignoring heartbeats, the order of conditions and the spelling of quantities. */
export function changedParts(before: NodeStatus = {}, after: NodeStatus = {}): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof NodeStatus>;
  return [...names].filter((name) => {
    switch (name) {
      case 'conditions':
        return !semanticEqual(comparable(before.conditions), comparable(after.conditions));
      case 'capacity':
      case 'allocatable':
        return !semanticEqual(amounts(before[name]), amounts(after[name]));
      default:
        return !semanticEqual(before[name], after[name]);
    }
  });
}

/** The node's facts that were sent and did not come back: an older server does not know them. */
export function droppedInfo(sent: NodeStatus = {}, stored: NodeStatus = {}): ReadonlySet<string> {
  const kept = new Set(Object.keys(stored.nodeInfo ?? {}));
  return new Set(Object.keys(sent.nodeInfo ?? {}).filter((name) => !kept.has(name)));
}

/** The status as a server that drops these facts would store it. */
export function withoutInfo(status: NodeStatus | undefined, dropped: ReadonlySet<string>): NodeStatus {
  const { nodeInfo, ...rest } = status ?? {};
  if (nodeInfo === undefined || dropped.size === 0) return status ?? {};
  const stored = Object.entries(nodeInfo).filter(([name]) => !dropped.has(name));
  // The names are those of the same type; the API server leaves out what it does not know.
  return { ...rest, nodeInfo: Object.fromEntries(stored) as unknown as typeof nodeInfo };
}

/** The server may return a quantity with another suffix. */
function amounts(list: ResourceList = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(list).map(([resource, amount]) => [
      resource,
      tryParseQuantity(amount)?.nanos.toString() ?? amount,
    ]),
  );
}

function comparable(conditions: NodeStatus['conditions'] = []): unknown[] {
  return conditions
    .map(({ lastHeartbeatTime, ...rest }) => rest)
    .sort((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
}

export interface ReportInput {
  readonly changed: boolean;
  readonly nowMs: number;
  /** Undefined before the first report. */
  readonly lastReportMs: number | undefined;
  readonly reportFrequencyMs: number;
  /** Jitter that the last report added to the time until the next. */
  readonly delayMs: number;
  readonly random: () => number;
}

export type ReportDecision =
  | { readonly kind: 'skip' }
  /** The new delay spreads the reports of nodes that changed at once. */
  | { readonly kind: 'report'; readonly delayMs: number };

export function decideReport(input: ReportInput): ReportDecision {
  const { changed, nowMs, lastReportMs, reportFrequencyMs } = input;
  const isDue = lastReportMs === undefined || nowMs - lastReportMs >= reportFrequencyMs + input.delayMs;
  if (!changed && !isDue) return { kind: 'skip' };
  const spread = changed || lastReportMs === undefined;
  return { kind: 'report', delayMs: spread ? (input.random() - 0.5) * reportFrequencyMs : 0 };
}

/** The strategic merge patch of `nodes/<name>/status`, which must not change the spec. */
export function nodeStatusPatch(before: Node, after: Node): Record<string, unknown> {
  const oldAddresses = before.status?.addresses ?? [];
  const newAddresses = after.status?.addresses ?? [];
  // The API merges addresses by type and so cannot hold two of a type: they are replaced whole.
  const replaceAddresses = oldAddresses.length > 0 && !semanticEqual(oldAddresses, newAddresses);
  const { spec: _spec, ...rest } = after;
  const target: Node = {
    ...rest,
    ...(before.spec === undefined ? {} : { spec: before.spec }),
    status: { ...after.status, ...(replaceAddresses ? { addresses: oldAddresses } : {}) },
  };
  const patch = strategicMergeDiff(mergeSchemaOf(resources.nodes), before, target);
  if (!replaceAddresses) return patch;
  const status = typeof patch.status === 'object' && patch.status !== null ? patch.status : {};
  return { ...patch, status: { ...status, addresses: [...newAddresses, { $patch: 'replace' }] } };
}

/** Corrects labels that must be right on every node; returns the same object if they are. */
export function withForcedLabels(node: Node, architecture: string): Node {
  const forced = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': architecture };
  const labels = node.metadata.labels ?? {};
  const isRight = Object.entries(forced).every(([key, value]) => labels[key] === value);
  return isRight ? node : { ...node, metadata: { ...node.metadata, labels: { ...labels, ...forced } } };
}
