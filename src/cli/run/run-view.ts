/** Shows a run to the user: a live table on a terminal, else a line for each change, or the logs of the containers. */
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
  /** Skips older log lines; wall-clock milliseconds. */
  readonly logsSinceMs?: number;
}

export interface RunView {
  /** A pod has changed. */
  changed(pod?: Pod, status?: PodStatus): void;
  /** Prints a permanent line. */
  note(line: string): void;
  /** Prints a permanent line about something that is wrong, also where only problems are shown. */
  warn(line: string): void;
  /** Shows at once what happens to all pods and what the user can do. */
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
        // A closed output must not stop the pods.
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
    // The last frame stays, and may be longer than the screen.
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
    warn: (line) => screen.note(line),
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
  // With --logs, a program may read stdout, so changes go to stderr.
  const out = follower === undefined ? stdout : stderr;
  const printed = new Map<string, { readonly name: string; readonly line: string }>();
  const printChanges = (): void => {
    if (quiet) return;
    const nowMs = clock.now();
    const all = pods();
    const uids = new Set(all.map(({ pod }) => pod.metadata.uid));
    for (const [uid, { name }] of printed) {
      if (uids.has(uid)) continue;
      printed.delete(uid);
      out.write(`${clockTime(nowMs)} ${name}: Stopped\n`);
    }
    for (const shown of all) {
      const view = viewPod(shown, timeline, nowMs);
      const line = changeLine(view);
      const uid = shown.pod.metadata.uid;
      if (printed.get(uid)?.line === line) continue;
      printed.set(uid, { name: view.fullName, line });
      out.write(`${clockTime(nowMs)} ${line}\n`);
    }
  };
  // The reason why a pod waits arrives a moment after its status change.
  let timer: { cancel(): void } | undefined;
  const printSoon = (): void => {
    timer ??= clock.setTimer(settleMs, () => {
      timer = undefined;
      printChanges();
    });
  };
  printSoon();
  return {
    changed(pod, status) {
      printSoon();
      if (pod !== undefined && status !== undefined) follower?.observe(pod.metadata.name, status);
    },
    note(line) {
      if (!quiet) out.write(`${line}\n`);
    },
    warn: (line) => void stderr.write(`${line}\n`),
    hint(text) {
      if (!quiet && text !== '') out.write(`${text}\n`);
      printChanges();
    },
    async close() {
      timer?.cancel();
      await follower?.close();
      printChanges();
    },
  };
}

const settleMs = 100;
