/** `nodelet explain POD`: shows from the timeline what happened to a pod and why. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { bool, type FlagValues, string } from '../flags/index.js';
import type { PodRef } from '../timeline/entry.js';
import { explainPod } from '../timeline/explain.js';
import { explanationText, stepLine } from '../timeline/explain-text.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { diskSource, type EntrySource, type KnownPod, socketSource } from './explain-sources.js';
import { defaultRunName, findRun, listRuns, type Run } from './run/state.js';

const flags = {
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: ['json'],
    about: 'output format: json',
  },
  all: { type: bool, about: 'show all steps instead of the last 30' },
  follow: { type: bool, shorthand: 'f', about: 'keep showing steps as they happen, until Ctrl-C' },
  'root-dir': {
    type: string,
    valueName: 'DIR',
    about: 'the root directory of an agent (default /var/lib/kubelet)',
  },
  ...namespaceFlag,
  ...runFlags,
} as const;

export const explainSpec: CommandSpec<typeof flags> = {
  name: 'explain',
  about: 'Shows what happened to a pod and why, its current state, what it waits for and what would help.',
  synopsis: ['[NAMESPACE/]POD [flags]'],
  notes: [
    "POD is the pod's name, with or without the node's name at its end, or the beginning of its UID.",
    'Below a container that failed stand the last lines of its log, as long as the run is up.',
    'The command works while a run or an agent is up, and after it has ended or crashed.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet explain web', 'find out why a pod is not ready'],
    ['nodelet explain web -f', 'follow the steps of a pod'],
    ['nodelet explain kube-system/dns -o json', 'print everything as JSON'],
    ['nodelet explain web --root-dir /var/lib/kubelet', 'explain a pod of an agent'],
  ],
};

const screenSteps = 30;
const agentRootDir = '/var/lib/kubelet';

export function runExplain(argv: readonly string[]): Promise<number> {
  return runCommand(explainSpec, argv, async ({ values, positionals }) => {
    const [name] = positionals;
    if (name === undefined || positionals.length > 1)
      throw new UsageError("name one pod; see 'nodelet explain --help'");
    if (values.output !== undefined && values.output !== 'text' && values.output !== 'json')
      throw new UsageError(`-o ${values.output}: the only format is json`);
    const wanted =
      values.namespace === undefined || name.includes('/') ? name : `${values.namespace}/${name}`;
    const { source, uid } = await findPod(await sources(values), wanted);
    const { entries, node, skipped = 0 } = await source.entriesOf(uid);
    if (skipped > 0)
      process.stderr.write(
        `${source.place}: skipped ${skipped} lines that another version wrote or a crash cut short\n`,
      );
    const { gone } = source;
    // A run that is gone does nothing more, so nothing counts as still due.
    const explanation = explainPod(entries, node, gone === undefined ? Date.now() : Number.POSITIVE_INFINITY);
    const exits = (await source.exits?.(uid)) ?? [];
    const ended = { ...(gone === undefined ? {} : { gone }), ...(exits.length === 0 ? {} : { exits }) };
    process.stdout.write(
      values.output === 'json'
        ? `${JSON.stringify({ ...explanation, ...ended }, undefined, 2)}\n`
        : explanationText(explanation, { ...ended, ...(values.all ? {} : { maxSteps: screenSteps }) }),
    );
    if (values.follow && gone === undefined) {
      for await (const entry of source.follow(uid, entries, new AbortController().signal)) {
        for (const step of explainPod([entry], [], Date.now()).steps) {
          process.stdout.write(
            values.output === 'json' ? `${JSON.stringify(step)}\n` : `${stepLine(step)}\n`,
          );
        }
      }
    }
    return 0;
  });
}

/** Live runs first, then crashed runs, then the agent of this machine. */
async function sources(values: FlagValues<typeof flags>): Promise<EntrySource[]> {
  const ring = (rootDir: string): EntrySource => diskSource(path.join(rootDir, 'timeline'));
  if (values['root-dir'] !== undefined) return [ring(values['root-dir'])];
  if (values.socket !== undefined) return [socketSource({ socketPath: values.socket })];
  if (values.run !== undefined) {
    const run = await findRun(values.run);
    return [run.alive ? socketSource({ socketPath: run.socketPath, run }) : crashedRun(run)];
  }
  const runs = await listRuns();
  const liveRuns = runs.filter(({ alive }) => alive);
  return [
    ...liveRuns.map((run) => socketSource({ socketPath: run.socketPath, run })),
    ...runs.filter(({ alive }) => !alive).map(crashedRun),
    ...(existsSync(path.join(agentRootDir, 'timeline')) || runs.length === 0 ? [ring(agentRootDir)] : []),
  ];
}

function crashedRun({ name, pid, rootDir }: Run): EntrySource {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return diskSource(
    path.join(rootDir, 'timeline'),
    `Run "${name}" is gone: its process ${pid} crashed or was killed. Its containers may still run: ` +
      `run the same "nodelet run" again to take them over, or "nodelet stop${option}" to remove them.`,
  );
}

interface ExplainablePod {
  readonly source: EntrySource;
  readonly uid: string;
}

/** Returns the pod from the first source that knows it. */
async function findPod(all: readonly EntrySource[], wanted: string): Promise<ExplainablePod> {
  const known: KnownPod[] = [];
  for (const source of all) {
    const pods = await source.pods();
    const uids = matchPods(pods, wanted);
    const [uid] = uids;
    if (uids.length > 1) {
      const several = podNames(pods.filter(({ pod }) => pod !== undefined && uids.includes(pod.uid)));
      throw new CommandFailure(`"${wanted}" matches several pods; name one of: ${several.join(', ')}`);
    }
    if (uid !== undefined) return { source, uid };
    known.push(...pods);
  }
  if (podNames(known).length === 0) {
    const places = all.map(({ place }) => place).join(', ');
    throw new CommandFailure(
      `no pods in ${places}; start pods with nodelet run, or name the root directory of an agent with --root-dir`,
    );
  }
  throw new CommandFailure(`no pod "${wanted}" in the timeline; known are: ${podNames(known).join(', ')}`);
}

/** UIDs of the pods that match. A pod that was replaced matches only with its newest UID. */
export function matchPods(known: readonly KnownPod[], wanted: string): string[] {
  const slash = wanted.indexOf('/');
  const namespace = slash < 0 ? undefined : wanted.slice(0, slash);
  const name = wanted.slice(slash + 1);
  const newest = new Map<string, string>();
  const byUid = new Set<string>();
  for (const { pod } of known) {
    if (pod === undefined) continue;
    const isNamed = pod.name === name || pod.name.startsWith(`${name}-`);
    if (isNamed && (namespace === undefined || namespace === pod.namespace))
      newest.set(fullName(pod), pod.uid);
    if (wanted.length >= 6 && pod.uid.startsWith(wanted)) byUid.add(pod.uid);
  }
  const exact = [...newest].filter(([full]) => full.endsWith(`/${name}`));
  const named = (exact.length > 0 ? exact : [...newest]).map(([, uid]) => uid);
  return named.length > 0 ? named : [...byUid];
}

function podNames(known: readonly KnownPod[]): string[] {
  return [...new Set(known.flatMap(({ pod }) => (pod === undefined ? [] : [fullName(pod)])))];
}

function fullName({ namespace, name }: PodRef): string {
  return `${namespace}/${name}`;
}
