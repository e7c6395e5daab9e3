/** Runs one session: claims the name, opens runtime, kubelet, socket and view, and cleans everything up at the end. */
import path from 'node:path';
import { chooseNodeName, keepOnDisk, kubernetesVersion, StartFailure } from '../../agent/index.js';
import { type Clock, errorText } from '../../async/index.js';
import { isTerminalPhase, type PodStatus } from '../../kube/index.js';
import { createKubelet, detectNodeAddress, type Kubelet } from '../../kubelet/index.js';
import { StandaloneObjects } from '../../pods/objects/standalone/index.js';
import type { ServerListener } from '../../server/index.js';
import { type StopPodsRequest, startLocalServer } from '../../server/local/index.js';
import { describeError, Timeline } from '../../timeline/index.js';
import { failureLines } from './failure-text.js';
import { followManifests, runObjects } from './follow/follow-manifests.js';
import type { FollowedManifests } from './follow/followed-manifests.js';
import { KeptPods } from './follow/kept-pods.js';
import {
  cleanUp,
  isSameRuntime,
  readRuntimeFile,
  sweepRuntime,
  type UsableRuntime,
  writeRuntimeFile,
} from './left-over.js';
import { localPod } from './local-pod.js';
import type { ManifestContent, ManifestPod } from './manifest.js';
import { type OpenRuntime, openRuntime } from './open-runtime.js';
import type { RunOptions } from './options.js';
import type { KeptPod, RunPod } from './run-pod.js';
import { RunPods } from './run-pods.js';
import type { StopRequests } from './run-signals.js';
import { type RunStats, runStats } from './run-stats.js';
import { openRunView, type RunView } from './run-view.js';
import { type ClaimedRun, claimRun, warnOfUnusable } from './state.js';
import { sweepPods } from './sweep.js';
import { unmountBelow } from './unmount.js';

export interface SessionInput {
  readonly options: RunOptions;
  readonly content: ManifestContent;
  /** The manifests, where they are followed. */
  readonly followed?: FollowedManifests | undefined;
  readonly choice: UsableRuntime;
  readonly requests: StopRequests;
  readonly clock: Clock;
  /** Called once the kubelet has the pods and the socket is open. */
  readonly onUp: (run: ClaimedRun, pods: number) => void;
}

/** Problems of the runtime other than failed calls. */
const runtimeProblem = 'runtime.problem';
/** The pods of a node whose manifests are followed: nobody knows how many there will be. */
const followedPods = 500;
/** Pods that run longer than their grace period plus this are killed. */
const stopMarginMs = 15_000;

/** Returns the exit code. Throws a StartFailure when the run cannot start. */
export async function runSession(input: SessionInput): Promise<number> {
  const claim = await claimRun(input.options.name, input.clock.now());
  if (claim.takenOver && !input.options.quiet)
    process.stderr.write(`taking over what an earlier run named ${claim.name} left behind\n`);
  let opened: OpenRuntime | undefined;
  try {
    await removeFromOtherRuntime(input, claim);
    await writeRuntimeFile(claim, input.choice, input.clock);
    const timeline = new Timeline({ clock: input.clock });
    opened = await openRuntime(input.choice, {
      claim,
      clock: input.clock,
      onProblem: (message, error) =>
        void timeline.record({ kind: 'problem', what: runtimeProblem, message, error }),
    });
    const keeper = new KeptPods({
      rootDir: claim.rootDir,
      clock: input.clock,
      onSetAside: warnOfUnusable,
      onFailing: (file, error) =>
        void timeline.record({
          kind: 'problem',
          what: runtimeProblem,
          message: `cannot write ${file}`,
          error,
        }),
    });
    const kept = claim.takenOver ? await keeper.read() : [];
    return await new RunSession(input, { claim, opened, timeline, keeper, kept }).run();
  } finally {
    await cleanUp(claim, opened, input.clock);
  }
}

/** Removes the pods of an earlier run that used another runtime: this run cannot take them over. */
async function removeFromOtherRuntime({ choice, clock }: SessionInput, claim: ClaimedRun): Promise<void> {
  // Always read the file: this sets a broken one aside before this run writes its own.
  const before = await readRuntimeFile(claim, clock);
  if (!claim.takenOver || before === undefined || isSameRuntime(before, choice)) return;
  await sweepRuntime(before, claim, clock);
  await unmountBelow(clock, [claim.rootDir, claim.dir]);
}

interface SessionParts {
  readonly claim: ClaimedRun;
  readonly opened: OpenRuntime;
  readonly timeline: Timeline;
  readonly keeper: KeptPods;
  readonly kept: readonly KeptPod[];
}

class RunSession {
  readonly #input: SessionInput;
  readonly #claim: ClaimedRun;
  readonly #opened: OpenRuntime;
  readonly #timeline: Timeline;
  readonly #keeper: KeptPods;
  readonly #objects: StandaloneObjects;
  readonly #pods: RunPods;
  #isKilled = false;

  constructor(input: SessionInput, { claim, opened, timeline, keeper, kept }: SessionParts) {
    this.#input = input;
    this.#claim = claim;
    this.#opened = opened;
    this.#timeline = timeline;
    this.#keeper = keeper;
    const { clock, content } = input;
    this.#objects = new StandaloneObjects({ clock });
    this.#objects.set(runObjects, content.objects);
    this.#pods = new RunPods(content.pods.map(this.#identify), clock.now(), kept);
  }

  readonly #identify = ({ pod, slot, job }: ManifestPod): RunPod => {
    const { choice } = this.#input;
    const hostNetwork = choice.kind === 'containerd' && !choice.podNetwork;
    const identity = { nodeName: chooseNodeName(''), runName: this.#claim.name, hostNetwork };
    return { pod: localPod(pod, identity), slot, job };
  };

  async run(): Promise<number> {
    const { options, clock, onUp } = this.#input;
    const timeline = this.#timeline;
    const ringDir = path.join(this.#claim.rootDir, 'timeline');
    const ring = keepOnDisk(timeline, ringDir);
    const kubelet = await this.#createKubelet();
    const unsubscribe = [kubelet.onFinished((uid) => this.#pods.finished(uid))];
    const view = openRunView({
      clock,
      timeline,
      quiet: options.quiet,
      logs: options.logs,
      env: process.env,
      stdout: process.stdout,
      stderr: process.stderr,
      pods: () => this.#pods.list(),
      cri: this.#opened.cri,
      ...(this.#claim.takenOver ? { logsSinceMs: clock.now() } : {}),
    });
    unsubscribe.push(
      timeline.subscribe(({ what, message }) => {
        if (what === runtimeProblem) view.note(`warning: ${message}`);
      }),
    );
    unsubscribe.push(kubelet.onStatus((change) => this.#observe(change.uid, change.status, view)));
    let listener: ServerListener | undefined;
    const stats = runStats(kubelet, { cri: this.#opened.cri, rootDir: this.#claim.rootDir });
    try {
      const failed = kubelet.start();
      listener = await this.#listen(kubelet, stats);
      onUp(this.#claim, this.#pods.list().length);
      await this.#waitForEnd(failed, view);
    } finally {
      for (const undo of unsubscribe) undo();
      await listener?.close();
      await stats.close();
      await kubelet.stop();
      if (this.#isKilled) {
        await sweepPods(this.#opened.cri);
        this.#pods.killed();
      }
      await view.close();
      await ring.close();
    }
    return this.#exitCode();
  }

  async #createKubelet(): Promise<Kubelet> {
    const { rootDir } = this.#claim;
    const { clock, content, options, followed } = this.#input;
    const address = await detectNodeAddress();
    const objects = this.#objects;
    return createKubelet({
      nodeName: chooseNodeName(''),
      runtime: this.#opened.cri,
      rootDir,
      clock,
      timeline: this.#timeline,
      objects,
      claims: objects,
      standalone: { labels: options.nodeLabels, kubeletVersion: kubernetesVersion },
      // All pods are static here, and so critical: what they lack tells more than that nobody makes room for them.
      namesShortage: true,
      hostIps: address === undefined ? [] : [address],
      eventSources: this.#opened.eventSources,
      ...(this.#opened.pulls === undefined ? {} : { pulls: this.#opened.pulls }),
      sources: [
        { name: 'file', create: (context) => this.#pods.source(context, (pods) => this.#keeper.write(pods)) },
      ],
      config: {
        podLogsDir: path.join(rootDir, 'logs'),
        // Other programs may use the same images: never collect them.
        imageGCHighThresholdPercent: 100,
        maxPods: Math.max(followed === undefined ? 110 : followedPods, content.pods.length),
        serializeImagePulls: false,
        maxParallelImagePulls: 4,
      },
    });
  }

  #listen(kubelet: Kubelet, { stats }: RunStats): Promise<ServerListener> {
    const { socketPath, name, rootDir } = this.#claim;
    const served = startLocalServer(kubelet, {
      socketPath,
      timeline: this.#timeline,
      clock: this.#input.clock,
      stats,
      version: kubernetesVersion,
      info: { name, rootDir, runtime: this.#input.choice.kind },
      stop: (request, signal) => this.#stopOnRequest(request, signal),
    });
    return served.catch((error: unknown) => {
      throw new StartFailure(describeError(error), { cause: error });
    });
  }

  async #stopOnRequest(request: StopPodsRequest, signal: AbortSignal): Promise<void> {
    const { clock, requests } = this.#input;
    const { gracePeriodSeconds } = request;
    if (request.pods.length === 0) {
      this.#pods.stop(clock.now(), undefined, gracePeriodSeconds);
      requests.request('nodelet stop', gracePeriodSeconds === 0);
      await this.#pods.gone(signal);
      return;
    }
    const uids = new Set(request.pods.map(({ uid }) => uid));
    this.#pods.stop(clock.now(), uids, gracePeriodSeconds);
    await this.#pods.gone(signal, uids);
  }

  #observe(uid: string, status: PodStatus, view: RunView): void {
    this.#pods.observe(uid, status);
    // A pod that was not admitted has no worker that could finish.
    if (isTerminalPhase(status.phase) && (status.containerStatuses ?? []).length === 0)
      this.#pods.finished(uid);
    const shown = this.#pods.list().find(({ pod }) => pod.metadata.uid === uid);
    view.changed(shown?.pod, status);
  }

  /** Returns when all pods have ended or have been stopped. */
  async #waitForEnd(failed: Promise<Error>, view: RunView): Promise<void> {
    const { requests, clock } = this.#input;
    const over = new AbortController();
    const following = new AbortController();
    try {
      const first = await Promise.race([this.#endOfItself(view, following.signal), failed, requests.stop]);
      following.abort();
      if (first instanceof Error)
        throw new StartFailure(`cannot run the pods: ${errorText(first)}`, { cause: first });
      if (first === 'ended') return;
      this.#pods.stop(clock.now());
      view.hint('Stopping all pods; Ctrl-C again kills them at once');
      const gone = this.#pods.gone(over.signal).then(() => 'gone' as const);
      const stopTimeoutMs = this.#pods.longestGraceSeconds() * 1_000 + stopMarginMs;
      let timer: { cancel(): void } | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = clock.setTimer(stopTimeoutMs, () => resolve('late'));
      });
      const outcome = await Promise.race([gone, late, requests.kill, failed]);
      timer?.cancel();
      this.#isKilled = outcome !== 'gone';
      if (this.#isKilled) view.hint('Killing what is left');
      if (outcome === 'late') view.note('killed pods that did not stop in time');
    } finally {
      following.abort();
      over.abort();
    }
  }

  /** A run whose manifests are followed does not end: there may be others soon. */
  async #endOfItself(view: RunView, signal: AbortSignal): Promise<'ended'> {
    const { followed, clock } = this.#input;
    if (followed === undefined) await this.#pods.ended(signal);
    else {
      const parts = { pods: this.#pods, objects: this.#objects, identify: this.#identify };
      await followManifests({ followed, ...parts, timeline: this.#timeline, clock, view }, signal);
    }
    return 'ended';
  }

  #exitCode(): number {
    const failures = this.#pods.failures();
    for (const line of failures.flatMap(failureLines)) process.stderr.write(`${line}\n`);
    return failures.length === 0 ? 0 : 1;
  }
}
