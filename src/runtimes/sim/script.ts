/**
 * How annotations script the behaviour of simulated containers.
 *
 * Keys are `sim.nodelet.dev/<container>.<setting>` or, for all containers of the pod,
 * `sim.nodelet.dev/<setting>`, on the pod (its sandbox) or on the container itself. The container's
 * own annotation wins over the pod's, the one that names the container over the one that does not.
 *
 * | setting        | value               | meaning (default)                                                     |
 * | -------------- | ------------------- | --------------------------------------------------------------------- |
 * | run-time       | duration, `forever` | ends by itself after this time (what its command does, else forever)  |
 * | exit-code      | 0–255               | exit code when it ends by itself; alone it means an exit at once (0)  |
 * | exit-reason    | text                | reason beside the exit code, such as `OOMKilled`                      |
 * | start-delay    | duration            | how long StartContainer takes (0s)                                    |
 * | start-error    | text                | StartContainer fails with it and the container exits with 128         |
 * | stop-delay     | duration            | from SIGTERM to the exit (0s)                                         |
 * | stop-exit-code | 0–255               | exit code after SIGTERM (143)                                         |
 * | ignores-term   | true, false         | only SIGKILL ends it, with 137 (false)                                |
 * | log            | text                | lines printed at the start                                            |
 * | exec-exit-code | 0–255               | the result of ExecSync and Exec for any command (runs the command)     |
 * | exec-output    | text                | standard output of ExecSync                                           |
 * | exec-time      | duration            | how long ExecSync takes (0s)                                          |
 * | ports          | list                | `8080=echo` echoes what is sent to the port, `80=http` serves HTTP    |
 * | probes         | list                | what `httpGet`, `tcpSocket` and `grpc` probes find (they are well)     |
 * | usage-cpu      | quantity            | how many CPUs it uses: `250m` (0)                                     |
 * | usage-memory   | quantity            | its working set: `64Mi` (1Mi)                                         |
 * | pull-time      | duration            | how long PullImage for this pod takes; names no container (the image's own) |
 *
 * `run-time` and `exit-code` may be lists such as `1s,1s,forever`: the n-th value holds for the n-th
 * attempt of the container, the last one for all that follow. Durations are Go durations (`1m30s`).
 *
 * `probes`, `usage-cpu` and `usage-memory` may change while the container runs: `100m:30s+2:10s` is a tenth of a CPU for 30 s,
 * then two for 10 s, again and again; the last step holds if it has no duration. `probes` is `ok`, `fail`, `hang`, `refuse` or
 * a status of HTTP, for all ports or each: `8080/ready=fail:20s+ok,9090=ok`.
 */
import { errorText } from '../../async/index.js';
import { CriError } from '../../cri/index.js';
import { parseDuration, parseQuantity } from '../../kube/index.js';
import { type ProbeRule, parseProbeRules } from './probe-answers.js';
import {
  forever,
  type Program,
  type ProgramStep,
  parseProgram,
  termSteps,
  untilTerminated,
} from './program.js';
import { parseSchedule, type Schedule } from './schedule.js';
import type { SimPortBehaviour } from './streams.js';

export const simAnnotationPrefix = 'sim.nodelet.dev/';

type Annotations = Readonly<Record<string, string>>;

export interface ExecScript {
  readonly exitCode: number;
  readonly output: string;
  readonly durationMs: number;
}

export interface ContainerScript {
  readonly program: Program;
  readonly exitReason: string | undefined;
  readonly startDelayMs: number;
  readonly startError: string | undefined;
  readonly exec: ExecScript | undefined;
  readonly ports: ReadonlyMap<number, SimPortBehaviour>;
  readonly probes: readonly ProbeRule[];
  readonly usage: {
    /** In CPUs. */
    readonly cpus: Schedule<number> | undefined;
    readonly memoryBytes: Schedule<number> | undefined;
  };
}

type ScriptFieldCheck = (text: string) => unknown;

const checks: ReadonlyMap<string, ScriptFieldCheck> = new Map<string, ScriptFieldCheck>([
  ['run-time', (text) => text.split(',').map(runTimeMs)],
  ['exit-code', (text) => text.split(',').map(exitCode)],
  ['exit-reason', String],
  ['start-delay', durationMs],
  ['start-error', String],
  ['stop-delay', durationMs],
  ['stop-exit-code', exitCode],
  ['ignores-term', truth],
  ['log', String],
  ['exec-exit-code', exitCode],
  ['exec-output', String],
  ['exec-time', durationMs],
  ['ports', portBehaviours],
  ['probes', parseProbeRules],
  ['usage-cpu', usage],
  ['usage-memory', usage],
  ['pull-time', durationMs],
]);

/** Throws InvalidArgument on the first invalid simulation annotation. */
export function validateSimAnnotations(annotations: Annotations): void {
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(simAnnotationPrefix)) continue;
    const setting = key.slice(Math.max(simAnnotationPrefix.length, key.lastIndexOf('.') + 1));
    // The prefix itself has dots, so a key without a container name is cut at the prefix.
    const check = checks.get(setting);
    if (check === undefined) {
      throw new CriError(
        'InvalidArgument',
        `annotation ${key}: unknown setting "${setting}"; use one of ${[...checks.keys()].join(', ')}`,
      );
    }
    try {
      check(value);
    } catch (cause) {
      const message = errorText(cause);
      throw new CriError('InvalidArgument', `annotation ${key}: ${message}`, { cause });
    }
  }
}

/** The pull time from the annotations of the pulling pod. */
export function scriptedPullMs(sandboxAnnotations: Annotations): number | undefined {
  const text = sandboxAnnotations[`${simAnnotationPrefix}pull-time`];
  return text === undefined ? undefined : durationMs(text);
}

export interface ScriptedContainer {
  readonly name: string;
  readonly attempt: number;
  readonly argv: readonly string[];
  readonly annotations: Annotations;
}

/** One container's script; both sets of annotations must be valid. */
export function scriptOf(container: ScriptedContainer, sandboxAnnotations: Annotations): ContainerScript {
  const read = <T>(setting: string, parse: (text: string) => T): T | undefined => {
    const named = `${simAnnotationPrefix}${container.name}.${setting}`;
    const plain = `${simAnnotationPrefix}${setting}`;
    const text =
      container.annotations[named] ??
      container.annotations[plain] ??
      sandboxAnnotations[named] ??
      sandboxAnnotations[plain];
    return text === undefined ? undefined : parse(text);
  };
  const ofAttempt = (text: string): string => {
    const values = text.split(',');
    return values[Math.min(container.attempt, values.length - 1)] ?? text;
  };
  const runMs = read('run-time', (text) => runTimeMs(ofAttempt(text)));
  const ownExitCode = read('exit-code', (text) => exitCode(ofAttempt(text)));
  const lines = read('log', (text) => text.split('\n')) ?? [];
  const base: Program = (runMs === undefined ? parseProgram(container.argv) : undefined) ?? untilTerminated();
  const ownEnd = runMs ?? (ownExitCode === undefined ? undefined : 0);
  const steps: readonly ProgramStep[] = [
    ...lines.map((line): ProgramStep => ({ do: 'print', stream: 'stdout', line })),
    ...(ownEnd === undefined ? base.steps : endingSteps(ownEnd, ownExitCode ?? 0)),
  ];
  const stopDelayMs = read('stop-delay', durationMs);
  const stopExitCode = read('stop-exit-code', exitCode);
  const scriptedStop = stopDelayMs !== undefined || stopExitCode !== undefined;
  const execExitCode = read('exec-exit-code', exitCode);
  const execOutput = read('exec-output', String);
  const execMs = read('exec-time', durationMs);
  const scriptedExec = execExitCode !== undefined || execOutput !== undefined || execMs !== undefined;
  return {
    program: {
      steps,
      onTerm: read('ignores-term', truth)
        ? 'ignore'
        : scriptedStop
          ? termSteps(stopExitCode ?? 143, stopDelayMs ?? 0)
          : base.onTerm,
    },
    exitReason: read('exit-reason', String),
    startDelayMs: read('start-delay', durationMs) ?? 0,
    startError: read('start-error', String),
    exec: scriptedExec
      ? { exitCode: execExitCode ?? 0, output: execOutput ?? '', durationMs: execMs ?? 0 }
      : undefined,
    ports: read('ports', portBehaviours) ?? noPorts,
    probes: read('probes', parseProbeRules) ?? noProbes,
    usage: usageOf(read('usage-cpu', usage), read('usage-memory', usage)),
  };
}

// Shared by all containers without any, of which there may be very many.
const noPorts: ContainerScript['ports'] = new Map();
const noProbes: ContainerScript['probes'] = [];
const noUsage: ContainerScript['usage'] = { cpus: undefined, memoryBytes: undefined };

function usageOf(
  cpus: Schedule<number> | undefined,
  memoryBytes: Schedule<number> | undefined,
): ContainerScript['usage'] {
  return cpus === undefined && memoryBytes === undefined ? noUsage : { cpus, memoryBytes };
}

/** An amount that changes with time, in whole units and their fractions. */
function usage(text: string): Schedule<number> {
  return parseSchedule(text, (value) => {
    const amount = Number(parseQuantity(value).nanos) / 1e9;
    if (amount < 0) throw new Error(`"${value}" is less than nothing`);
    return amount;
  });
}

function endingSteps(runMs: number, code: number): readonly ProgramStep[] {
  if (runMs === Number.POSITIVE_INFINITY) return [forever];
  const exit: ProgramStep = { do: 'exit', code };
  return runMs === 0 ? [exit] : [{ do: 'sleep', durationMs: runMs, interruptible: true }, exit];
}

function runTimeMs(text: string): number {
  return text === 'forever' ? Number.POSITIVE_INFINITY : durationMs(text);
}

function durationMs(text: string): number {
  const value = parseDuration(text);
  if (value < 0) throw new Error(`negative duration "${text}"`);
  return value;
}

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new Error(`exit code "${text}" is not a whole number from 0 to 255`);
  }
  return Number(text);
}

function portBehaviours(text: string): ReadonlyMap<number, SimPortBehaviour> {
  return new Map(
    text.split(',').map((item) => {
      const [, port = '', behaviour] = /^(\d{1,5})=(.*)$/.exec(item.trim()) ?? [];
      if (Number(port) < 1 || Number(port) > 0xffff || (behaviour !== 'echo' && behaviour !== 'http')) {
        throw new Error(`"${item}" is not a port with =echo or =http`);
      }
      return [Number(port), behaviour];
    }),
  );
}

function truth(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Error(`"${text}" is neither true nor false`);
  return text === 'true';
}
