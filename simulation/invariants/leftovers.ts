/** What must not lie below the root directory of a node at rest, and must not stand in its records. */
import { rootDir } from '../world/machine-files.js';

/** What a node has that has no pods; a volume's own directories are judged by whoever knows the volumes. */
const belongs = [
  /^\/(pods|plugins|plugins_registry|pod-resources|checkpoints|device-plugins)$/,
  /^\/(cpu_manager_state|memory_manager_state|dra_manager_state)$/,
  /^\/(actuated|allocated)_pods_state$/,
  // Files that could not be read are kept to be looked at, the newest of each.
  /\.corrupt-[^/]+$/,
  /^\/device-plugins\/kubelet_internal_checkpoint$/,
  /^\/plugins_registry\/[^/]+-reg\.sock$/,
  /^\/plugins\/kubernetes\.io(\/csi(\/[^/]+)?)?$/,
];
/** Records of pods. That of devices follows with their next change, as the reference kubelet's does. */
const records = /^\/(cpu_manager_state|memory_manager_state|actuated_pods_state|allocated_pods_state)$/;
const uids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Lines tell of kind, path, mode, owner, group and content in base64. */
export function leftovers(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const [kind, path = ''] = line.split(' ');
    const below = belowRoot(line);
    if (below === '' || below.startsWith('/pods/') || /^\/plugins\/kubernetes\.io\/csi\/./.test(below))
      return [];
    return belongs.some((pattern) => pattern.test(below)) ? [] : [`${kind} ${path} is left`];
  });
}

/** Pods that are gone, and that a record names. */
export function staleRecords(lines: readonly string[], known: ReadonlySet<string>): string[] {
  return lines.flatMap((line) => {
    const below = belowRoot(line);
    if (!records.test(below)) return [];
    const content = Buffer.from(line.split(' ').at(-1) ?? '', 'base64').toString();
    return [...new Set(content.match(uids) ?? [])]
      .filter((uid) => !known.has(uid))
      .map((uid) => `${below} names pod ${uid}, which is gone`);
  });
}

/** Empty for mounts, and for what lies elsewhere. */
function belowRoot(line: string): string {
  const [kind, path = ''] = line.split(' ');
  return kind !== 'mount' && path.startsWith(`${rootDir}/`) ? path.slice(rootDir.length) : '';
}
