/** Runs a fleet of hollow nodes until Ctrl-C. */
import { readFile } from 'node:fs/promises';
import { ignoreOutputErrors } from '../../agent/index.js';
import { errorText, systemClock } from '../../async/index.js';
import {
  countStates,
  HollowConsole,
  type HollowControl,
  type HollowSettings,
  openFleet,
  openThreadedFleet,
  serveConsole,
} from '../../hollow/index.js';
import { loadKubeconfig, pairProblem } from '../../kube-client/index.js';
import { detectNodeAddress } from '../../kubelet/index.js';
import { SocketInUse } from '../../server/index.js';
import { CommandFailure, UsageError } from '../client/usage-error.js';
import { catchStopRequests } from '../run/run-signals.js';
import { groupsOf, nameTemplateOf, profileOfFlags } from './groups.js';
import type { HollowRunOptions } from './options.js';
import { ProblemPrinter } from './problem-printer.js';

/** How often a person who waits is told how far the nodes are. */
const progressMs = 2_000;

export async function runFleet(options: HollowRunOptions): Promise<number> {
  ignoreOutputErrors();
  const say = (text: string): void => {
    if (!options.quiet) process.stderr.write(`${text}\n`);
  };
  const profile = profileOfFlags(options.profileFlags);
  const nameTemplate = nameTemplateOf(options.profileFlags);
  const groups = await groupsOf(options.count, options.profileFlags);
  const settings = await settingsOf(options);
  const stops = catchStopRequests(systemClock);
  const problems = new ProblemPrinter((line) => process.stderr.write(`${line}\n`), systemClock);
  const onProblem = (nodeName: string, message: string): void => problems.tell(nodeName, message);
  const { threads } = options;
  const control =
    threads === 1
      ? await openFleet(settings, onProblem)
      : await openThreadedFleet(settings, { threads, onProblem });
  const hollow = new HollowConsole({ control, nameTemplate, profile, firstPort: options.firstPort });
  const listener = await serveConsole(hollow, options.socketPath).catch(async (error: unknown) => {
    await control.stop(false);
    throw error instanceof SocketInUse
      ? new CommandFailure(`${errorText(error)}: give this fleet another one with --socket`, { cause: error })
      : error;
  });
  try {
    const names = await hollow.add(groups);
    say(`${names.length} nodes join the cluster; "nodelet hollow ps" shows them`);
    const told = new AbortController();
    const progress = tellProgress(control, say, told.signal);
    const why = await stops.stop;
    told.abort();
    await progress;
    say(`${why}: the nodes end`);
  } finally {
    await listener.close();
    const ended = control.stop(options.deletesNodes);
    const outcome = await Promise.race([ended, stops.kill.then(() => undefined)]);
    for (const { name, problem } of outcome ?? []) if (problem !== undefined) problems.tell(name, problem);
    problems.close();
    stops.release();
    // Whoever asks a second time does not want to wait for what is under way.
    if (outcome === undefined) process.exit(1);
  }
  return 0;
}

async function settingsOf(options: HollowRunOptions): Promise<HollowSettings> {
  const { kubeconfig, context, servesKubeletApi, nodesPerSecond, sharesWatches } = options;
  const nodeIp = options.address ?? (await detectNodeAddress());
  if (nodeIp === undefined && servesKubeletApi)
    throw new UsageError('this machine has no address that others reach: name one with --address');
  return {
    kubeconfig,
    context,
    nodesPerSecond,
    sharesWatches,
    recordsEvents: options.recordsEvents,
    callsPerSecond: options.callsPerSecond,
    // One that nobody is asked at may be anybody's.
    nodeIp: nodeIp ?? '192.0.2.1',
    config: {},
    kubeletApi:
      servesKubeletApi && nodeIp !== undefined
        ? { address: nodeIp, clientCa: await clientAuthority(options), ...(await givenCertificate(options)) }
        : undefined,
  };
}

/** Without an authority of its own, that of the cluster: in most clusters it has signed the API server's client, too. */
async function clientAuthority({ clientCaFile, kubeconfig, context }: HollowRunOptions): Promise<string> {
  if (clientCaFile !== undefined) return textOf('--client-ca-file', clientCaFile);
  const { certificateAuthority } = (await loadKubeconfig(kubeconfig, context)).endpoint;
  if (certificateAuthority === undefined) return '';
  if (certificateAuthority.kind === 'data') return certificateAuthority.pem;
  return readFile(certificateAuthority.path, 'utf8');
}

async function givenCertificate({
  certificate: files,
}: HollowRunOptions): Promise<Pick<NonNullable<HollowSettings['kubeletApi']>, 'certificate'>> {
  if (files === undefined) return {};
  const [certificatePem, keyPem] = await Promise.all([
    textOf('--tls-cert-file', files.certificateFile),
    textOf('--tls-private-key-file', files.keyFile),
  ]);
  const problem = pairProblem({ certificatePem, keyPem });
  if (problem !== undefined) throw new UsageError(`--tls-cert-file ${files.certificateFile}: ${problem}`);
  return { certificate: { certificatePem, keyPem } };
}

function textOf(flag: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${flag} ${file}: ${errorText(error)}`, { cause: error });
  });
}

/** One line now and then, until all nodes have joined. */
async function tellProgress(
  control: HollowControl,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await new Promise<void>((resolve) => {
      const timer = systemClock.setTimer(progressMs, done);
      function done(): void {
        timer.cancel();
        signal.removeEventListener('abort', done);
        resolve();
      }
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
    if (signal.aborted) return;
    const { waiting, starting, ready, failed } = countStates((await control.report()).nodes);
    say(`${ready} nodes are ready${failed > 0 ? `, ${failed} have failed` : ''}`);
    if (waiting + starting === 0) return;
  }
}
