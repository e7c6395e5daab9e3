/** A record as an operator replays it, by the built program, and all that it says. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { generationsIn, readLines } from '../src/replay/record-reader.js';

const launcher = new URL('../bin/nodelet', import.meta.url).pathname;
const run = promisify(execFile);

export interface ReplayReport {
  readonly generation: number;
  readonly turns: number;
  readonly differences: { readonly count: number; readonly kept: readonly object[] };
  readonly pod?: { readonly phase: string; readonly steps: readonly { readonly what: string }[] };
}

export async function replayRecord(dir: string, ...flags: readonly string[]): Promise<ReplayReport> {
  const { stdout } = await run(process.execPath, [launcher, 'replay', dir, '--json', ...flags], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout?: string; stderr?: string }) => {
    // It exits with 1 where something differs, and says what.
    if (error.stdout === undefined || error.stdout === '') throw new Error(error.stderr);
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as ReplayReport;
}

/** The last second of a killed agent is not in its record. */
export const recordWritten = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2_000));

/** All that the record says, decompressed. */
export async function textOfRecord(dir: string): Promise<string> {
  let text = '';
  for (const files of (await generationsIn(dir)).values())
    for await (const line of readLines(dir, files).lines) text += `${line}\n`;
  return text;
}
