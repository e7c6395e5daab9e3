/** The specs' program: which specs and images it knows, and running some of its specs to their end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, systemEnvironment } from '../../src/runtimes/containerd/command.js';
import { runCommand } from '../../test/env/index.js';
import type { ConformanceOptions } from './arguments.js';
import { focusOn } from './batches.js';
import { oneLine, readResults, readSpecs, type Spec, type SpecResult } from './report.js';

/** What every spec's process is told. */
export interface SpecGround {
  readonly program: string;
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** More flags of the program, for what this cluster is. */
  readonly flags: readonly string[];
  /** For logs and reports. */
  readonly dir: string;
  /** Ends the processes. */
  readonly signal: AbortSignal;
}

/** The slowest spec takes some minutes; a batch of them, on a busy machine, much less than this. */
const batchTimeout = '90m';
const provider = ['--provider=skeleton', '--num-nodes=1', '--ginkgo.no-color'];

export async function listSpecs(
  { e2e, focus, skip }: ConformanceOptions,
  dir: string,
): Promise<readonly Spec[]> {
  const report = join(dir, 'dry-run.json');
  const filters = [`--ginkgo.focus=${focus}`, ...(skip === undefined ? [] : [`--ginkgo.skip=${skip}`])];
  const args = [...provider, ...filters, '--ginkgo.dry-run', '--ginkgo.silence-skips'];
  await runCommand(e2e, [...args, `--ginkgo.json-report=${report}`], { timeoutMs: 120_000 });
  const specs = readSpecs(readFileSync(report, 'utf8'));
  rmSync(report);
  return specs;
}

export async function listImages(program: string): Promise<readonly string[]> {
  const { stdout } = await runCommand(program, ['--list-images']);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Runs the specs of these names, one after another, in a process of its own. */
export async function runSpecs(
  { program, kubeconfig, kubectl, flags, dir, signal }: SpecGround,
  batch: string,
  names: readonly string[],
): Promise<readonly SpecResult[]> {
  const [report, logPath] = [join(dir, `${batch}.json`), join(dir, `${batch}.log`)];
  const args = [
    ...provider,
    ...flags,
    `--kubeconfig=${kubeconfig}`,
    `--kubectl-path=${kubectl}`,
    `--ginkgo.focus=${focusOn(names)}`,
    '--ginkgo.silence-skips',
    `--ginkgo.timeout=${batchTimeout}`,
    `--ginkgo.json-report=${report}`,
    // A failed spec's namespace would hold its pods on the node.
    '--delete-namespace-on-failure=true',
  ];
  const log = openSync(logPath, 'w');
  // It must not outlive this process, whatever ends it.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
    stdio: ['ignore', log, log],
    env: systemEnvironment(),
    cwd: dir,
  });
  closeSync(log);
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await once(child, 'exit');
  signal.removeEventListener('abort', stop);
  const how = child.signalCode ?? `code ${child.exitCode}`;
  const said = oneLine(lastLines(readFileSync(logPath, 'utf8'), 3));
  const written = existsSync(report) ? readFileSync(report, 'utf8') : undefined;
  // It holds every spec there is, each with the reason not to run it.
  if (written !== undefined) rmSync(report);
  return readResults(written, names, `the specs' program ended with ${how} without telling: ${said}`);
}
