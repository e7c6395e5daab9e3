/** Shows a run to its user: a live table on a terminal, else a line for each change, or the containers' logs. */
import type { Clock } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { clockTime, type Timeline } from '../../timeline/index.js';
import { LiveScreen } from './live-screen.js';
import { LogFollower } from './log-follower.js';
import { changeLine, tableCells, tableHeader, viewPod } from './pod-view.js';
import type { ShownPod } from './run-pods.js';
import { cutTo, cutToHeight, type ScreenSize, tableLines } from './table.js';

export interface RunViewOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly quiet: boolean;
  readonly logs: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly pods: () => readonly ShownPod[];
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
  /** Logs from before this are not shown; wall-clock milliseconds. */
  readonly logsSinceMs?: number;
}

export interface RunView {
  /** Something about a pod has changed. */
  changed(pod?: Pod, status?: PodStatus): void;
  /** A line that stays. */
  note(line: string): void;
  /** Tells what happens to all pods now and what the user can do; shown at once. */
  hint(text: string): void;
  close(): Promise<void>;
}

export function wantsColor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

export function openRunView(options: RunViewOptions): RunView {
  const { quiet, logs, stdout, env } = options;
  const follower = logs ? openFollower(options) : undefined;
  if (stdout.isTTY === true && !logs && !quiet && env.TERM !== 'dumb') return tableView(options);
  return lineView(options, follower);
}

function openFollower({ cri, clock, stdout, stderr, env, logsSinceMs }: RunViewOptions): LogFollower {
  return new LogFollower({
    cri,
    clock,
    color: wantsColor(stdout, env),
    ...(logsSinceMs === undefined ? {} : { sinceMs: logsSinceMs }),
    write: (text) =>
      new Promise((resolve) => {
        // A reader that went away ends the showing, not the pods.
        stdout.write(text, () => resolve());
      }),
    onProblem: (message, error) =>
      void stderr.write(`${message} failed: ${error instanceof Error ? error.message : String(error)}\n`),
  });
}

function tableView(options: RunViewOptions): RunView {
  const { stdout, clock, timeline, pods, env } = options;
  const color = wantsColor(stdout, env);
  let hint = 'Ctrl-C stops all pods';
  const render = ({ columns, rows }: ScreenSize): string[] => {
    const nowMs = clock.now();
    const all = pods();
    // The last picture stays, and may be longer than the screen.
    const height = hint === '' ? all.length + 1 : Math.max(1, rows - 1);
    const views = all.slice(0, height).map((pod) => viewPod(pod, timeline, nowMs));
    const lines = tableLines(tableHeader, views.map(tableCells), columns, color);
    const body = cutToHeight(lines, height, all.length + 1, 'pods');
    const shownHint = cutTo(hint, columns);
    if (hint === '') return body;
    return [...body, color ? `\u001b[2m${shownHint}\u001b[0m` : shownHint];
  };
  const screen = new LiveScreen({ terminal: stdout, clock, render });
  return {
    changed: () => screen.request(),
    note: (line) => screen.note(line),
    hint(text) {
      hint = text;
      screen.drawNow();
    },
    async close() {
      hint = '';
      screen.close();
    },
  };
}

function lineView(options: RunViewOptions, follower: LogFollower | undefined): RunView {
  const { clock, timeline, pods, quiet, stdout, stderr } = options;
  // Beside logs the changes must not stand in what may be read by a program.
  const out = follower === undefined ? stdout : stderr;
  const told = new Map<string, string>();
  const tellChanges = (): void => {
    if (quiet) return;
    const nowMs = clock.now();
    for (const shown of pods()) {
      const line = changeLine(viewPod(shown, timeline, nowMs));
      const uid = shown.pod.metadata.uid;
      if (told.get(uid) === line) continue;
      told.set(uid, line);
      out.write(`${clockTime(nowMs)} ${line}\n`);
    }
  };
  // What a pod waits for is known a moment after its status has changed.
  let timer: { cancel(): void } | undefined;
  const tellSoon = (): void => {
    timer ??= clock.setTimer(settleMs, () => {
      timer = undefined;
      tellChanges();
    });
  };
  tellSoon();
  return {
    changed(pod, status) {
      tellSoon();
      if (pod !== undefined && status !== undefined) follower?.observe(pod.metadata.name, status);
    },
    note(line) {
      if (!quiet) out.write(`${line}\n`);
    },
    hint(text) {
      if (!quiet && text !== '') out.write(`${text}\n`);
      tellChanges();
    },
    async close() {
      timer?.cancel();
      await follower?.close();
      tellChanges();
    },
  };
}

const settleMs = 100;
