/** What `nodelet hollow ps` prints: nodes by state, those that need a look, and what the process uses. */
import { countStates, type HollowProcessReport } from '../../hollow/index.js';
import { formatAge } from '../../kube/values/age.js';
import { formatTable } from '../print/table.js';

const shownNodes = 20;
const MiB = 1024 * 1024;

/** Without `all` the ready nodes are only counted. */
export function reportText(report: HollowProcessReport, all: boolean): string {
  const { nodes, watches } = report;
  const counts = Object.entries(countStates(nodes)).filter(([, count]) => count > 0);
  const podsOf = (state: string): number =>
    nodes.reduce((sum, node) => (node.state === state ? sum + node.pods : sum), 0);
  const byState = formatTable(
    ['STATE', 'NODES', 'PODS'],
    counts.map(([state, count]) => [state.toUpperCase(), String(count), String(podsOf(state))]),
  );
  const wanted = all ? nodes : nodes.filter(({ state }) => state !== 'ready');
  const listed = all ? wanted : wanted.slice(0, shownNodes);
  const rows = listed.map(({ name, state, pods, port, problem }) => [
    name,
    state.toUpperCase(),
    String(pods),
    port === undefined ? '-' : String(port),
    problem ?? '-',
  ]);
  const left = wanted.length - listed.length;
  return [
    byState,
    ...(rows.length === 0 ? [] : [formatTable(['NODE', 'STATE', 'PODS', 'PORT', 'PROBLEM'], rows)]),
    ...(left > 0 ? [`and ${left} more; --all shows every node\n`] : []),
    `process ${report.pid}: up ${formatAge(report.upMs)}, ${Math.round(report.rssBytes / MiB)} MiB, ` +
      `${(report.cpuMs / 1000).toFixed(1)} s of CPU, ${watches.opened} watches for ${watches.served} of the nodes\n`,
  ].join('\n');
}
