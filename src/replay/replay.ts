/** Replays one start of an agent from its record. */

import type { ClusterOptions } from '../kubelet/cluster/create-cluster-kubelet.js';
import type { Kubelet, KubeletOptions } from '../kubelet/index.js';
import type { TimelineEntry } from '../timeline/index.js';
import type { Difference } from './differences.js';
import type { RecordFileName } from './record-file.js';
import { gatesOf, type RecordHead, readHead } from './record-head.js';
import { RecordProblem } from './record-problem.js';
import { readLines } from './record-reader.js';
import { type MakeKubelet, replayedKubelet } from './recorded-kubelet.js';
import { turnsOf } from './turn-reader.js';

/** The kubelets of today's code. */
export interface ReplayedCode {
  readonly standalone: MakeKubelet<Kubelet>;
  readonly cluster: (options: KubeletOptions, cluster: ClusterOptions) => Promise<Kubelet>;
}

export interface ReplayRequest {
  readonly dir: string;
  /** The files of one start of the agent. */
  readonly files: readonly RecordFileName[];
  readonly code: ReplayedCode;
  /** Ends the replay before the turn for which it is true. */
  readonly isOver?: (turn: number, timeMs: number) => boolean;
  /** Called with each entry of the timeline, and the turn in which it was made. */
  readonly onEntry?: (entry: TimelineEntry, turn: number) => void;
}

export interface ReplayOutcome {
  readonly head: RecordHead;
  readonly turns: number;
  /** Wall-clock milliseconds of the last turn. */
  readonly endMs: number;
  readonly differences: { readonly count: number; readonly kept: readonly Difference[] };
  /** What the kubelet said last before the first difference, about its pod if it has one. */
  readonly before: readonly TimelineEntry[];
  /** Where the record breaks off. */
  readonly cutAt: string | undefined;
}

export async function replayRecord({
  dir,
  files,
  code,
  isOver = () => false,
  onEntry = () => {},
}: ReplayRequest): Promise<ReplayOutcome> {
  const { lines, cutAt } = readLines(dir, files);
  const rest = lines[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done === true)
    throw new RecordProblem(`the record in ${dir} is empty: the agent was killed in its first second`);
  const head = readHead(first.value);
  const { config, startsAtOnce, eviction, ...data } = head.options;
  const player = replayedKubelet(
    {
      ...data,
      ...(config && { config }),
      ...(startsAtOnce && { startsAtOnce }),
      gates: gatesOf(head),
      seed: head.seed,
      ports: head.ports,
      // Plugins are programs of the recorded machine.
      credentialProviders: undefined,
      // What it sees comes through a port.
      eviction: eviction && { ...eviction, stats: {} as NonNullable<KubeletOptions['eviction']>['stats'] },
    },
    (options) =>
      head.cluster === undefined
        ? code.standalone(options)
        : code.cluster(options, clusterOptions(head.cluster)),
  );
  let endMs = head.startedMs;
  const recent: TimelineEntry[] = [];
  let before: readonly TimelineEntry[] | undefined;
  for await (const turn of turnsOf({ [Symbol.asyncIterator]: () => rest })) {
    if (isOver(player.turn + 1, turn.input.t[0])) break;
    endMs = turn.input.t[0];
    const said = await player.play(turn);
    const [first] = player.differences.kept;
    if (first !== undefined) before ??= recent.filter(isAbout(first)).slice(-shownBefore);
    for (const entry of said) {
      recent.push(entry);
      onEntry(entry, player.turn);
    }
    if (recent.length > 2 * keptRecent) recent.splice(0, recent.length - keptRecent);
  }
  const { count, kept } = player.differences;
  return {
    head,
    turns: player.turn,
    endMs,
    differences: { count, kept },
    before: before ?? [],
    cutAt: cutAt(),
  };
}

const keptRecent = 1000;
const shownBefore = 5;

function isAbout({ recordedEntry, nowEntry }: Difference): (entry: TimelineEntry) => boolean {
  const uid = (recordedEntry ?? nowEntry)?.pod?.uid;
  return ({ pod }) => uid === undefined || pod?.uid === uid;
}

/** The API of a record is reached through ports, which the player has. */
function clusterOptions(cluster: NonNullable<RecordHead['cluster']>): ClusterOptions {
  const nowhere = {} as ClusterOptions['apis']['main'];
  return {
    ...cluster,
    apis: { main: nowhere, heartbeat: nowhere, events: nowhere, resetConnections: () => undefined },
  };
}
