/** `nodelet run --api`: a node with an API of its own that runs the manifests, and that leaves nothing behind. */
import path from 'node:path';
import { chooseNodeName } from '../../../agent/index.js';
import { type Clock, errorText } from '../../../async/index.js';
import type { ReadyNode } from '../../../bare-node/index.js';
import type { ServerListener } from '../../../server/index.js';
import { type StopPodsRequest, startLocalServer } from '../../../server/local/index.js';
import { defaultClusterCidr } from '../../../services/addresses/service-addresses.js';
import { agentConfiguration, clusterDomain } from '../../up/agent-configuration.js';
import { openChosen, type RuntimeEndpoint } from '../../up/open-endpoint.js';
import { cleanUp, type UsableRuntime, writeRuntimeFile } from '../left-over.js';
import { openRuntime } from '../open-runtime.js';
import type { RunOptions } from '../options.js';
import type { ShownPod } from '../run-pods.js';
import type { StopRequests } from '../run-signals.js';
import { openRunView, type RunView } from '../run-view.js';
import { type ClaimedRun, claimRun } from '../state.js';
import { endAllPods, endPods } from './end-pods.js';
import { freePort } from './free-port.js';

export interface ApiSessionInput {
  readonly options: RunOptions;
  readonly choice: UsableRuntime;
  readonly requests: StopRequests;
  readonly clock: Clock;
  /** Called once the API answers and the node runs pods. */
  readonly onUp: (run: ClaimedRun, pods: number) => void;
}

/** How long a node may take to kill what was not to have any grace. */
const killMs = 10_000;

/** Returns the exit code. Throws a StartFailure when the run cannot start. */
export async function runApiSession(input: ApiSessionInput): Promise<number> {
  const { options, choice, clock } = input;
  const claim = await claimRun(options.name, clock.now());
  if (claim.takenOver && !options.quiet)
    process.stderr.write(`taking over what an earlier run named ${claim.name} left behind\n`);
  await writeRuntimeFile(claim, choice, clock);
  const session = new ApiSession(input, claim);
  try {
    const problem = (message: string, error: unknown): void =>
      session.warn(`${message}: ${errorText(error)}`);
    const runtime = await openChosen(choice, claim.rootDir, clock, problem);
    try {
      await session.run(runtime);
    } finally {
      await runtime.close();
    }
  } finally {
    // Only what was killed before it could end is still there.
    await cleanUp(claim, await openRuntime(choice, { claim, clock, onProblem: () => undefined }), clock);
  }
  return session.wrong > 0 ? 1 : 0;
}

class ApiSession {
  readonly #input: ApiSessionInput;
  readonly #claim: ClaimedRun;
  /** Of the manifests, now. */
  wrong = 0;
  #node: ReadyNode | undefined;
  #view: RunView | undefined;
  #listener: Promise<ServerListener> | undefined;

  constructor(input: ApiSessionInput, claim: ClaimedRun) {
    this.#input = input;
    this.#claim = claim;
  }

  warn(line: string): void {
    if (this.#view === undefined) process.stderr.write(`${line}\n`);
    else this.#view.warn(line);
  }

  #note(line: string): void {
    if (this.#input.options.quiet) return;
    if (this.#view === undefined) process.stderr.write(`${line}\n`);
    else this.#view.note(line);
  }

  async run(runtime: RuntimeEndpoint): Promise<void> {
    const { options, requests } = this.#input;
    const { rootDir } = this.#claim;
    const port = await freePort();
    const configuration = await agentConfiguration(
      {
        stateDir: rootDir,
        serviceCidr: defaultClusterCidr,
        agentFlags: Object.entries(options.nodeLabels).map(([key, value]) => `--node-labels=${key}=${value}`),
      },
      // No group of its own stays behind.
      { endpoint: runtime.endpoint, usesCgroups: false },
      {
        port,
        healthzPort: 0,
        // No packet rules of the node stay behind.
        makeIPTablesUtilChains: false,
        podLogsDir: path.join(rootDir, 'logs'),
        // Other programs may use the same images: never collect them.
        imageGCHighThresholdPercent: 100,
      },
    );
    const stop = new AbortController();
    void requests.stop.then((why) => stop.abort(why));
    const { runBareNode } = await import('../../../bare-node/index.js');
    try {
      await runBareNode(
        {
          configuration,
          nodeName: chooseNodeName(''),
          stateDir: rootDir,
          address: '127.0.0.1',
          port: 0,
          serviceCidr: defaultClusterCidr,
          clusterDomain,
          podNetwork: runtime.podNetwork,
          logSink: { write: async ({ length }) => length, writeNow: ({ length }) => length },
          manifests: {
            inputs: options.inputs,
            follows: options.watch,
            onNews: ({ errors, notes, wrong }) => {
              this.wrong = wrong;
              for (const error of errors) this.warn(`error: ${error}`);
              for (const note of notes) this.#note(note);
            },
          },
          onServing: ({ server, kubeconfigFile }) =>
            this.#note(`the API is at ${server}; to use it: export KUBECONFIG=${kubeconfigFile}`),
          onReady: (node) => this.#ready(node),
          beforeStop: () => this.#endAll(),
        },
        stop.signal,
      );
    } finally {
      await (await this.#listener)?.close();
      await this.#view?.close();
    }
  }

  #ready(node: ReadyNode): void {
    const { options, clock, onUp, choice } = this.#input;
    const { name, socketPath, rootDir } = this.#claim;
    const { kubelet } = node;
    this.#node = node;
    const view = openRunView({
      clock,
      timeline: kubelet.timeline,
      quiet: options.quiet,
      logs: options.logs,
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      pods: () => shownPods(node),
      cri: kubelet.runtime,
      ...(this.#claim.takenOver ? { logsSinceMs: clock.now() } : {}),
    });
    this.#view = view;
    kubelet.onStatus(({ uid, status }) =>
      view.changed(
        kubelet.pods().find(({ metadata }) => metadata.uid === uid),
        status,
      ),
    );
    kubelet.onPods(() => view.changed());
    this.#listener = startLocalServer(kubelet, {
      socketPath,
      timeline: kubelet.timeline,
      clock,
      info: { name, rootDir, runtime: choice.kind },
      stop: (request, signal) => this.#stopOnRequest(node, request, signal),
    });
    this.#listener.then(
      () => onUp(this.#claim, kubelet.pods().length),
      (error: unknown) => {
        this.warn(`cannot open ${socketPath}: ${errorText(error)}`);
        this.#input.requests.request('the socket cannot be opened', false);
      },
    );
  }

  async #stopOnRequest(
    { api }: ReadyNode,
    { pods, gracePeriodSeconds }: StopPodsRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, requests } = this.#input;
    if (pods.length > 0) return endPods({ api, clock, signal }, pods, gracePeriodSeconds);
    requests.request('nodelet stop', gracePeriodSeconds === 0);
  }

  /** With their grace, until somebody asks again. */
  async #endAll(): Promise<void> {
    const { clock, requests } = this.#input;
    const node = this.#node;
    if (node === undefined) return;
    this.#view?.hint('Stopping all pods; Ctrl-C again kills them at once');
    const killed = new AbortController();
    const kill = requests.kill.then(() => 'kill' as const);
    const ended = endAllPods({ api: node.api, clock, signal: killed.signal }).then(() => 'ended' as const);
    if ((await Promise.race([ended, kill])) === 'ended') return;
    killed.abort();
    await ended.catch(() => undefined);
    this.#view?.hint('Killing what is left');
    const late = AbortSignal.timeout(killMs);
    await endAllPods({ api: node.api, clock, signal: late }, 0).catch((error: unknown) => {
      if (!late.aborted) throw error;
    });
  }
}

function shownPods({ kubelet }: ReadyNode): ShownPod[] {
  return kubelet.pods().map((pod) => ({
    pod,
    state: pod.metadata.deletionTimestamp === undefined ? 'active' : 'stopping',
  }));
}
