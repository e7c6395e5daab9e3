/** `nodelet replay DIR`: runs the kubelet again over a record, and shows what it decides, and where otherwise than then. */
import path from 'node:path';
import { bool, string } from '../flags/index.js';
import { createClusterKubelet } from '../kubelet/cluster/create-cluster-kubelet.js';
import { createKubelet } from '../kubelet/index.js';
import { generationsIn, type RecordFileName, RecordProblem, replayRecord } from '../replay/index.js';
import type { TimelineEntry } from '../timeline/entry.js';
import { explainPod } from '../timeline/explain.js';
import { explanationText } from '../timeline/explain-text.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { replayText } from './print/replay-text.js';

const flags = {
  pod: {
    type: string,
    valueName: '[NAMESPACE/]POD',
    about: 'explain this pod as the replayed kubelet sees it',
  },
  until: {
    type: string,
    valueName: 'TIME',
    about: 'stop before this time (2026-01-31T12:00:00Z), or before the turn of this number',
  },
  start: {
    type: string,
    valueName: 'N',
    about: "which of the agent's starts to replay, as the record numbers them (default: the last)",
  },
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: ['json'],
    about: 'output format: json',
  },
  json: { type: bool, about: 'the same as -o json' },
  all: {
    type: bool,
    about: 'show all steps of the pod instead of the last 30, and all differences that were kept',
  },
  help: runFlags.help,
} as const;

export const replaySpec: CommandSpec<typeof flags> = {
  name: 'replay',
  about: 'Runs the kubelet again over what an agent recorded, offline, and shows where it decides otherwise.',
  synopsis: ['DIR [flags]'],
  notes: [
    'DIR is the directory that the agent was given with --record. Nothing of this machine is read or changed.',
    'The exit code is 1 when this nodelet decides otherwise than the recorded one.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet replay /var/lib/kubelet-record', 'check that this nodelet takes the recorded decisions'],
    ['nodelet replay record --pod web --until 2026-01-31T12:00:00Z', 'explain a pod as it was at a moment'],
  ],
};

const screenSteps = 30;
/** Entries of one pod that are kept to be explained. */
const keptEntries = 100_000;

export function runReplay(argv: readonly string[]): Promise<number> {
  return runCommand(replaySpec, argv, async ({ values, positionals }) => {
    const [dir] = positionals;
    if (dir === undefined || positionals.length > 1)
      throw new UsageError("name one directory; see 'nodelet replay --help'");
    const isJson = values.json || values.output === 'json';
    const isOver = endOf(values.until);
    const entries: TimelineEntry[] = [];
    const ofNode: TimelineEntry[] = [];
    try {
      const generations = await generationsIn(path.resolve(dir));
      const [generation, files] = chosen(generations, values.start, dir);
      const outcome = await replayRecord({
        dir: path.resolve(dir),
        files,
        code: { standalone: createKubelet, cluster: createClusterKubelet },
        isOver,
        onEntry: (entry) => {
          if (entry.pod === undefined) keep(ofNode, entry);
          else if (values.pod !== undefined && isMeant(entry.pod, values.pod)) keep(entries, entry);
        },
      });
      if (values.pod !== undefined && entries.length === 0)
        throw new CommandFailure(`the record has no pod ${values.pod} until then`);
      const pod = entries.length === 0 ? undefined : explainPod(entries, ofNode, outcome.endMs);
      const report = { generation, starts: [...generations.keys()], ...outcome, ...(pod && { pod }) };
      process.stdout.write(
        isJson
          ? `${JSON.stringify(report, undefined, 2)}\n`
          : replayText(report, { all: values.all }) +
              (pod ? `\n${explanationText(pod, values.all ? {} : { maxSteps: screenSteps })}` : ''),
      );
      return outcome.differences.count === 0 ? 0 : 1;
    } catch (error) {
      if (error instanceof RecordProblem) throw new CommandFailure(error.message, { cause: error });
      throw error;
    }
  });
}

function keep(list: TimelineEntry[], entry: TimelineEntry): void {
  list.push(entry);
  if (list.length > keptEntries) list.splice(0, keptEntries / 10);
}

function chosen(
  generations: ReadonlyMap<number, readonly RecordFileName[]>,
  start: string | undefined,
  dir: string,
): readonly [number, readonly RecordFileName[]] {
  const generation = start === undefined ? Math.max(...generations.keys()) : Number(start);
  const files = generations.get(generation);
  if (files === undefined)
    throw new UsageError(
      `--start ${start}: ${dir} has no such start; it has ${[...generations.keys()].join(', ')}`,
    );
  return [generation, files];
}

function endOf(until: string | undefined): (turn: number, timeMs: number) => boolean {
  if (until === undefined) return () => false;
  if (/^\d+$/.test(until)) return (turn) => turn >= Number(until);
  const endMs = Date.parse(until);
  if (Number.isNaN(endMs))
    throw new UsageError(`--until ${until} is no time such as 2026-01-31T12:00:00Z, and no number of a turn`);
  return (_, timeMs) => timeMs >= endMs;
}

/** By name, by namespace and name, or by the beginning of the UID; static pods also without the node's name. */
function isMeant({ uid, name, namespace }: NonNullable<TimelineEntry['pod']>, wanted: string): boolean {
  if (wanted.includes('/')) return wanted === `${namespace}/${name}`;
  return name === wanted || (wanted.length >= 4 && uid.startsWith(wanted));
}
