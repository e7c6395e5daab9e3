/** `nodelet run`: runs the pods of manifests on this machine, without any setup. */

import { StartFailure } from '../../agent/index.js';
import { errorText, systemClock } from '../../async/index.js';
import { formatProblem } from '../../kube/index.js';
import { UsageError } from '../client/usage-error.js';
import { chooseRuntime, type RuntimeChoice } from '../runtime-choice.js';
import { readRuntimeFacts } from '../runtime-choice-facts.js';
import { detach, removeDetachedLog, tellParent, wasDetached } from './detach.js';
import { FollowedManifests } from './follow/followed-manifests.js';
import { isAddress } from './input-address.js';
import type { ManifestContent } from './manifest.js';
import { readInputs } from './manifest-inputs.js';
import { parseRunArguments, type RunOptions, runUsage } from './options.js';
import { catchStopRequests, type StopRequests } from './run-signals.js';
import { runSession } from './session.js';
import type { ClaimedRun } from './state.js';

export async function runRun(argv: readonly string[]): Promise<number> {
  try {
    const options = parseRunArguments(argv);
    if (options === 'help') {
      process.stdout.write(runUsage);
      return 0;
    }
    if (options.detach && !wasDetached()) return await detach(options, argv);
    const exitCode = await run(options);
    if (exitCode === 0 && wasDetached()) await removeDetachedLog();
    return exitCode;
  } catch (error) {
    const message = errorText(error);
    process.stderr.write(`nodelet run: ${message}\n`);
    if (error instanceof UsageError) {
      process.stderr.write("Run 'nodelet run --help' for usage.\n");
      return 2;
    }
    if (!(error instanceof StartFailure) && error instanceof Error)
      process.stderr.write(`${error.stack ?? ''}\n`);
    await tellParent({ kind: 'failed' });
    return 1;
  }
}

async function run(options: RunOptions): Promise<number> {
  const requests = catchStopRequests(systemClock);
  stopOnClosedOutput(requests);
  try {
    if (options.api) return await runWithApi(options, requests);
    const manifests = await readManifests(options, requests);
    if (manifests === undefined) return 1;
    const { content, followed } = manifests;
    const choice = await decideRuntime(options);
    if (!options.quiet) process.stderr.write(`${choice.line}\n`);
    const exitCode = await runSession({
      options,
      content,
      followed,
      choice,
      requests,
      clock: systemClock,
      onUp: (claim, pods) => void tellParent({ kind: 'up', pods, pid: claim.pid }),
    });
    // A script that waits for a job must not see success when a manifest was skipped.
    return (followed?.content ?? content).problems.length > 0 ? 1 : exitCode;
  } finally {
    requests.release();
  }
}

async function runWithApi(options: RunOptions, requests: StopRequests): Promise<number> {
  const choice = await decideRuntime(options);
  if (!options.quiet) process.stderr.write(`${choice.line}\n`);
  const { runApiSession } = await import('./api/api-session.js');
  const onUp = (claim: ClaimedRun, pods: number): void =>
    void tellParent({ kind: 'up', pods, pid: claim.pid });
  return runApiSession({ options, choice, requests, clock: systemClock, onUp });
}

interface ReadManifests {
  readonly content: ManifestContent;
  /** With --watch. */
  readonly followed?: FollowedManifests;
}

/** Prints problems and ignored objects. Returns undefined when no pod is left to run, and none can come. */
async function readManifests(
  options: RunOptions,
  requests: StopRequests,
): Promise<ReadManifests | undefined> {
  const reading = new AbortController();
  void requests.stop.then(() => {
    reading.abort();
    // A read from standard input does not take a signal.
    process.stdin.destroy();
  });
  const isFollowed = (input: string): boolean => options.watch && !isAddress(input);
  const fixed = await readInputs(
    options.inputs.filter((input) => !isFollowed(input)),
    {
      clock: systemClock,
      stdin: process.stdin,
      signal: reading.signal,
    },
  ).catch((error: unknown) => {
    throw reading.signal.aborted ? new StartFailure('stopped before the manifests were read') : error;
  });
  const paths = options.inputs.filter(isFollowed);
  const followed =
    paths.length === 0 ? undefined : new FollowedManifests({ inputs: paths, fixed, clock: systemClock });
  const mayCome = (await followed?.first()) ?? false;
  const content = followed?.content ?? fixed;
  for (const problem of content.problems) process.stderr.write(`error: ${formatProblem(problem)}\n`);
  if (!options.quiet) {
    for (const warning of content.warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
    if (content.ignored.length > 0)
      process.stderr.write(
        `warning: ignored, as they mean nothing to one machine: ${content.ignored.join(', ')}\n`,
      );
  }
  if (content.pods.length > 0 || mayCome) return { content, ...(followed && { followed }) };
  process.stderr.write(
    content.problems.length > 0
      ? 'nodelet run: no pod is left to run; correct the errors above\n'
      : 'nodelet run: the manifests have no pod; add a Pod, Deployment, StatefulSet, DaemonSet or Job\n',
  );
  await tellParent({ kind: 'failed' });
  return undefined;
}

async function decideRuntime(options: RunOptions): Promise<Exclude<RuntimeChoice, { kind: 'impossible' }>> {
  const choice = chooseRuntime(await readRuntimeFacts(options.runtime, options.endpoint));
  if (choice.kind === 'impossible') throw new StartFailure(choice.message);
  return choice;
}

/** Stops the run in order when the reader of its output, such as `head`, exits. */
function stopOnClosedOutput(requests: StopRequests): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Other errors, such as a full disk, lose a line of output and nothing else.
      if (error.code === 'EPIPE' || error.code === 'EIO') requests.request('the output is closed', false);
    });
  }
}
