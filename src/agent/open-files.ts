/** How many files the agent may have open: `maxOpenFiles`, set from outside, since Node cannot limit its own process. */
import { readFile } from 'node:fs/promises';
import { type Clock, errorText } from '../async/index.js';
import { CommandLine, endText, plainEnvironment, runProgram } from '../programs/index.js';
import type { Timeline } from '../timeline/index.js';

const commandLimitMs = 10_000;
const outputLimitBytes = 4096;

export interface OpenFilesWish {
  readonly maxOpenFiles: number;
  /** Whether someone asked for that number; the default only raises what is lower. */
  readonly isAsked: boolean;
}

/** The limit to set, soft and hard; undefined where `/proc/self/limits` shows nothing to change. */
export function openFilesChange(
  limits: string,
  { maxOpenFiles, isAsked }: OpenFilesWish,
): number | undefined {
  const [, soft = '', hard = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(limits) ?? [];
  if (soft === '' || maxOpenFiles <= 0) return undefined;
  const [softFiles, hardFiles] = [soft, hard].map((text) =>
    text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text),
  );
  if (softFiles === maxOpenFiles && hardFiles === maxOpenFiles) return undefined;
  const isEnough = softFiles !== undefined && softFiles >= maxOpenFiles;
  return isAsked || !isEnough ? maxOpenFiles : undefined;
}

/** Failing to is only worth a note: the agent runs with fewer, too. */
export async function limitOpenFiles(
  wish: OpenFilesWish,
  { clock, timeline, pid = process.pid }: { clock: Clock; timeline: Timeline; pid?: number },
): Promise<void> {
  const message = `the limit of open files could not be set to ${wish.maxOpenFiles}`;
  try {
    const files = openFilesChange(await readFile(`/proc/${pid}/limits`, 'utf8'), wish);
    if (files === undefined) return;
    const line = CommandLine.of('prlimit').option('--pid', pid).option('--nofile', `${files}:${files}`);
    const env = plainEnvironment();
    const end = await runProgram(line, { clock, limitMs: commandLimitMs, env, outputLimitBytes });
    if (end.kind === 'exited' && end.exitCode === 0) return;
    throw new Error(`prlimit: ${end.stderr.trim() || endText(end)}`);
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'agent.openFiles',
      message: `${message}: ${errorText(error)}`,
      level: wish.isAsked ? 'warn' : 'info',
    });
  }
}
