/** `nodelet explain POD`: why a pod is where it is, from the timeline that the agent keeps on disk. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Entry, explainPod, explanationText, readDiskRing, stepLine } from '../timeline/index.js';

export const explainUsage = `Shows what happened to a pod and why, where it is now, what it waits for and what would help.

Usage:
  nodelet explain [NAMESPACE/]POD [flags]

POD is the pod's name, with or without the node's name at its end, or the beginning of its UID.
Works while the agent runs and after it has ended or crashed.

Flags:
  --root-dir DIR    the agent's folder (default /var/lib/kubelet)
  -o json           everything as JSON
  --all             all steps instead of the last 30
  -f, --follow      go on showing steps as they happen; Ctrl-C ends it
  -h, --help        show this

Examples:
  nodelet explain web
  nodelet explain kube-system/dns -o json
`;

const screenSteps = 30;
const followPeriodMs = 300;

export async function runExplain(argv: readonly string[]): Promise<number> {
  const fail = (message: string): number => {
    process.stderr.write(`nodelet explain: ${message}\n`);
    return 1;
  };
  let parsed: ReturnType<typeof parseExplainArgs>;
  try {
    parsed = parseExplainArgs(argv);
  } catch (error) {
    return fail(
      `${error instanceof Error ? error.message : String(error)}\nRun 'nodelet explain --help' for usage.`,
    );
  }
  const { values, positionals } = parsed;
  if (values.help) {
    process.stdout.write(explainUsage);
    return 0;
  }
  const [wanted] = positionals;
  if (wanted === undefined || positionals.length > 1)
    return fail("name one pod; 'nodelet explain --help' shows how");
  if (values.output !== 'text' && values.output !== 'json')
    return fail(`-o ${values.output}: only json is known`);

  const dir = path.join(values['root-dir'], 'timeline');
  const entries = await readDiskRing(dir);
  if (entries.length === 0)
    return fail(`no agent has kept a timeline in ${dir}; name its folder with --root-dir`);
  const uids = matchPods(entries, wanted);
  const [uid] = uids;
  if (uid === undefined)
    return fail(`no pod "${wanted}" in the timeline; known are: ${podNames(entries).join(', ') || 'none'}`);
  if (uids.length > 1)
    return fail(`"${wanted}" is not one pod; name one of: ${describePods(entries, uids).join(', ')}`);

  const node = entries.filter(({ pod }) => pod === undefined);
  const explanation = explainPod(
    entries.filter(({ pod }) => pod?.uid === uid),
    node,
    Date.now(),
  );
  process.stdout.write(
    values.output === 'json'
      ? `${JSON.stringify(explanation, undefined, 2)}\n`
      : explanationText(explanation, values.all ? {} : { maxSteps: screenSteps }),
  );
  if (values.follow) await follow(dir, uid, entries);
  return 0;
}

function parseExplainArgs(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'root-dir': { type: 'string', default: '/var/lib/kubelet' },
      output: { type: 'string', short: 'o', default: 'text' },
      all: { type: 'boolean', default: false },
      follow: { type: 'boolean', short: 'f', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
}

/** UIDs of the pods that a user may mean; a pod that was replaced counts only with its newest UID. */
export function matchPods(entries: readonly Entry[], wanted: string): string[] {
  const [namespace, name] = wanted.includes('/')
    ? (wanted.split('/', 2) as [string, string])
    : [undefined, wanted];
  const newest = new Map<string, string>();
  const byUid = new Set<string>();
  for (const { pod } of entries) {
    if (pod === undefined) continue;
    const isNamed = pod.name === name || pod.name.startsWith(`${name}-`);
    if (isNamed && (namespace === undefined || namespace === pod.namespace)) {
      newest.set(`${pod.namespace}/${pod.name}`, pod.uid);
    }
    if (wanted.length >= 6 && pod.uid.startsWith(wanted)) byUid.add(pod.uid);
  }
  const exact = [...newest].filter(([fullName]) => fullName.endsWith(`/${name}`));
  const named = (exact.length > 0 ? exact : [...newest]).map(([, uid]) => uid);
  return named.length > 0 ? named : [...byUid];
}

function podNames(entries: readonly Entry[]): string[] {
  return [
    ...new Set(entries.flatMap(({ pod }) => (pod === undefined ? [] : [`${pod.namespace}/${pod.name}`]))),
  ];
}

function describePods(entries: readonly Entry[], uids: readonly string[]): string[] {
  return podNames(entries.filter(({ pod }) => pod !== undefined && uids.includes(pod.uid)));
}

/** Shows further steps until a signal ends it. */
async function follow(dir: string, uid: string, shown: readonly Entry[]): Promise<void> {
  const ended = new AbortController();
  const onSignal = (): void => ended.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  let { timeMs = 0, seq = 0 } = shown.at(-1) ?? {};
  try {
    for (;;) {
      await sleep(followPeriodMs, undefined, { signal: ended.signal });
      const fresh = (await readDiskRing(dir)).filter(
        (entry) => entry.timeMs > timeMs || (entry.timeMs === timeMs && entry.seq > seq),
      );
      const last = fresh.at(-1);
      if (last === undefined) continue;
      ({ timeMs, seq } = last);
      const own = fresh.filter(({ pod }) => pod?.uid === uid);
      if (own.length > 0)
        for (const step of explainPod(own, [], Date.now()).steps) process.stdout.write(`${stepLine(step)}\n`);
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  }
}
