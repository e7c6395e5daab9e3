/** The thread that feeds inputs to targets. It may hang or run out of memory: `session.ts` watches it. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { keptInputs } from './corpus.js';
import { inputOf, shortened } from './mutate.js';
import { isRefusal, type Target } from './target.js';
import { targetOf } from './targets.js';

export interface Task {
  readonly target: string;
  readonly seed: number;
  /** The number of the first input. */
  readonly from: number;
  /** How long to go on, unless the inputs end before. */
  readonly forMs: number;
  readonly inputs: number;
  /** One input to try instead. */
  readonly replay?: Uint8Array;
}

export interface Failure {
  readonly why: string;
  readonly input: Uint8Array;
  /** Undefined for one of the corpus. */
  readonly number?: number;
}

export interface Report {
  readonly inputs: number;
  readonly failure?: Failure;
}

/** Where the watcher sees which input is being tried; below zero are those that are no mutations. */
const progress = new Float64Array(workerData as SharedArrayBuffer);

/** An input may leave behind so much more than was there before the target. */
const heapLimitBytes = 64 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Most inputs are refused with an error, and its trace takes longer than parsing; a failure is looked at again with one. */
const traceLength = 20;
Error.stackTraceLimit = 0;

let stray: unknown;
process.on('uncaughtException', (error) => {
  stray ??= error;
});

/** What went wrong; undefined when nothing did. */
async function attempt(target: Target, input: Buffer): Promise<string | undefined> {
  try {
    await target.run(input);
  } catch (error) {
    if (!isRefusal(target, error)) return textOf(error);
  }
  return strayText();
}

/** As `attempt`, for targets that do not wait: a promise for each input would take longer than most parsers. */
function attemptNow(target: Target, input: Buffer): string | undefined | Promise<string | undefined> {
  try {
    const running = target.run(input);
    if (running !== undefined) {
      return running.then(strayText, (error: unknown) =>
        isRefusal(target, error) ? strayText() : textOf(error),
      );
    }
  } catch (error) {
    if (!isRefusal(target, error)) return textOf(error);
  }
  return stray === undefined ? undefined : strayText();
}

function strayText(): string | undefined {
  if (stray === undefined) return undefined;
  const text = `an error that nobody caught: ${textOf(stray)}`;
  stray = undefined;
  return text;
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** As `attempt`, and the text says where. */
async function attemptTraced(target: Target, input: Buffer): Promise<string | undefined> {
  Error.stackTraceLimit = traceLength;
  try {
    return await attempt(target, input);
  } finally {
    Error.stackTraceLimit = 0;
  }
}

async function tryKept(target: Target): Promise<Report> {
  const kept = keptInputs(target.name);
  for (const { name, input } of kept) {
    progress[0] = -2;
    const why = await attemptTraced(target, input);
    if (why !== undefined) return { inputs: kept.length, failure: { why: `corpus ${name}: ${why}`, input } };
  }
  return { inputs: kept.length };
}

async function fuzz(target: Target, task: Task): Promise<Report> {
  const kept = await tryKept(target);
  if (kept.failure !== undefined) return kept;
  collectGarbage();
  const baselineBytes = heldBytes();
  const end = performance.now() + task.forMs;
  let number = task.from;
  for (const last = task.from + task.inputs; number < last; number++) {
    progress[0] = number;
    const input = inputOf(target, task.seed, number);
    const outcome = attemptNow(target, input);
    const why = outcome instanceof Promise ? await outcome : outcome;
    if (why !== undefined) return failed(target, input, why, number - task.from + 1, number);
    if (number % 64 === 0) {
      if (heldBytes() > baselineBytes + heapLimitBytes) {
        collectGarbage();
        const grownBytes = heldBytes() - baselineBytes;
        if (grownBytes > heapLimitBytes) {
          return failed(
            target,
            input,
            `${grownBytes} bytes are held that were not before`,
            number - task.from,
            number,
          );
        }
      }
      if (performance.now() > end) break;
    }
  }
  return { inputs: kept.inputs + number - task.from };
}

async function failed(
  target: Target,
  input: Buffer,
  why: string,
  inputs: number,
  number: number,
): Promise<Report> {
  const first = (text: string): string => text.split('\n', 1).join('').replace(/\d+/g, '0');
  progress[0] = -3;
  const small = shortened(input, (candidate) => {
    const outcome = attemptNow(target, candidate);
    // What is only told later cannot be shortened here.
    if (outcome instanceof Promise) {
      outcome.catch(() => undefined);
      return false;
    }
    return outcome !== undefined && first(outcome) === first(why);
  });
  return { inputs, failure: { why: (await attemptTraced(target, small)) ?? why, input: small, number } };
}

parentPort?.postMessage('ready');
parentPort?.on('message', (task: Task) => {
  const target = targetOf(task.target);
  const run = async (): Promise<Report> => {
    if (task.replay === undefined) return fuzz(target, task);
    progress[0] = -2;
    const input = Buffer.from(task.replay);
    const why = await attemptTraced(target, input);
    return { inputs: 1, ...(why === undefined ? {} : { failure: { why, input } }) };
  };
  run()
    .then(async (report) => {
      progress[0] = -1;
      await target.close?.();
      return report;
    })
    .then(
      (report) => parentPort?.postMessage(report),
      (error: unknown) => {
        const failure: Failure = { why: textOf(error), input: Buffer.alloc(0) };
        parentPort?.postMessage({ inputs: 0, failure } satisfies Report);
      },
    );
});
