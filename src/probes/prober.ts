/** Runs a probe once: performs the check, retries it if it could not be made, and records the event. */

import type { Clock } from '../async/index.js';
import { asError, isCancelled, throwIfCancelled } from '../async/index.js';
import type { CriRuntime } from '../cri/index.js';
import {
  containerPort,
  formatHost,
  HttpGetError,
  type HttpGetRequest,
  httpGetRequest,
} from '../http-get/index.js';
import {
  type Container,
  containerFieldPath,
  formatPod,
  type Probe,
  type ProbeResult,
} from '../kube/index.js';
import { podRef, type Timeline } from '../timeline/index.js';
import {
  kindTitles,
  type ProbeCallLimits,
  type ProbeNetwork,
  type ProbeOutcome,
  type ProbeRun,
  probeOf,
  probeSettings,
  probeUserAgent,
} from './contracts.js';
import { execProbe } from './exec.js';
import { judgeGrpc, judgeHttp } from './judge.js';
import { type AttemptTimes, isOwnDelay } from './own-delay.js';

/** Attempts in all; a check that could not be made is retried at once. */
const maxAttempts = 3;

export interface ProbeProtocols {
  /** HTTP/2 without TLS. */
  readonly h2c: boolean;
  /** gRPC over TLS. */
  readonly grpcTls: boolean;
}

export interface ProberOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly cri: Pick<CriRuntime, 'execSync'>;
  readonly network: ProbeNetwork;
  /** Which protocols pods may ask for; without them the fields mean nothing. */
  readonly protocols?: ProbeProtocols;
  /** Replaces each known `$(NAME)` in the text. */
  readonly expand: (text: string, lookup: (name: string) => string | undefined) => string;
}

/** What a run says about the container, with its message. */
export interface ProbeConclusion {
  readonly result: 'success' | 'failure';
  readonly output: string;
}

/** An attempt that failed by this agent's delay. */
class OwnDelay extends Error {
  override readonly name = 'OwnDelay';
  readonly times: AttemptTimes;

  constructor(times: AttemptTimes) {
    const { tookMs, timeoutMs, busyMs } = times;
    super(
      `it took ${Math.round(tookMs)} of ${timeoutMs} ms, while the agent was busy for ${Math.round(busyMs)} ms`,
    );
    this.times = times;
  }
}

export class Prober {
  readonly #options: ProberOptions;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Undefined if the check could not be made, which says nothing about the container. Rejects only with Cancelled. */
  async run(run: ProbeRun, signal: AbortSignal): Promise<ProbeConclusion | undefined> {
    let outcome = await this.#attempt(run, signal);
    for (let attempt = 1; outcome.error !== undefined && attempt < maxAttempts; attempt++) {
      throwIfCancelled(signal);
      outcome = await this.#attempt(run, signal);
    }
    // A check cut off by the agent's shutdown is not recorded.
    throwIfCancelled(signal);
    if (outcome.error instanceof OwnDelay) {
      this.#noteDelay(run, outcome.error);
      return undefined;
    }
    const event = eventOf(kindTitles[run.kind], outcome);
    if (event !== undefined) {
      const { pod, container } = run;
      const kind = pod.spec.containers.some(({ name }) => name === container.name)
        ? 'container'
        : 'initContainer';
      const fieldPath = containerFieldPath(kind, container.name);
      this.#options.timeline.event(podRef(pod), 'Warning', event.reason, event.message, fieldPath);
    }
    if (outcome.error !== undefined) return undefined;
    return { result: resultOf(outcome), output: outcome.output };
  }

  async #attempt(run: ProbeRun, signal: AbortSignal): Promise<ProbeOutcome> {
    const { clock, network } = this.#options;
    const probe = probeOf(run.container, run.kind) ?? {};
    const startedMs = clock.monotonic();
    const busyBeforeMs = network.busyMs?.() ?? 0;
    try {
      const outcome = await this.#check(run, probe, signal);
      // The runtime measures the time of a command, so its timeout is never our delay.
      if (outcome.state !== 'failure' || probe.exec !== undefined) return outcome;
      const times = {
        timeoutMs: probeSettings(probe).timeoutSeconds * 1000,
        tookMs: clock.monotonic() - startedMs,
        busyMs: (network.busyMs?.() ?? 0) - busyBeforeMs,
      };
      return isOwnDelay(times) ? { state: 'unknown', error: new OwnDelay(times) } : outcome;
    } catch (error) {
      if (isCancelled(error)) throw error;
      return { state: 'unknown', error: asError(error) };
    }
  }

  #noteDelay({ kind, pod, container }: ProbeRun, { message, times }: OwnDelay): void {
    this.#options.timeline.record({
      kind: 'notice',
      what: 'probe.late',
      message: `the ${kind} probe does not count: ${message}`,
      because: 'a delay of this agent says nothing about the container',
      pod: podRef(pod),
      container: container.name,
      level: 'warn',
      data: { tookMs: Math.round(times.tookMs), busyMs: Math.round(times.busyMs) },
    });
  }

  async #check(run: ProbeRun, probe: Probe, signal: AbortSignal): Promise<ProbeOutcome> {
    const { clock, cri, expand, protocols } = this.#options;
    const { pod, container, containerId, status } = run;
    const network = this.#options.network.forContainer?.(containerId) ?? this.#options.network;
    const { timeoutSeconds } = probeSettings(probe);
    const limits: ProbeCallLimits = { clock, timeoutMs: timeoutSeconds * 1000, signal };
    const podIp = status.podIP ?? '';
    if (probe.exec !== undefined) {
      const env = literalEnv(container);
      const command = (probe.exec.command ?? []).map((text) => expand(text, (name) => env.get(name)));
      return execProbe(cri, { containerId, command, timeoutSeconds }, signal);
    }
    if (probe.httpGet !== undefined) {
      const isPlainHttp2 = protocols?.h2c === true && probe.httpGet.protocol === 'HTTP2';
      const target = { container, podIp, userAgent: probeUserAgent };
      const request = httpGetRequest(probe.httpGet, target);
      return checkHttp(network, isPlainHttp2 ? { ...request, isPlainHttp2 } : request, limits);
    }
    if (probe.tcpSocket !== undefined) {
      const { host, port } = probe.tcpSocket;
      const address = { host: host || podIp, port: containerPort(port, container) };
      return network.tcp(address, limits).then(
        () => ({ state: 'success', output: '' }),
        (error: unknown) => failureOf(error),
      );
    }
    if (probe.grpc !== undefined) {
      const { port, service = '', mode } = probe.grpc;
      const isTls = protocols?.grpcTls === true && mode === 'TLS';
      const asked = { host: podIp, port, service, ...(isTls ? { isTls } : {}) };
      const answer = await network.grpc(asked, limits);
      return judgeGrpc(answer, formatHost({ hostname: podIp, port }), limits.timeoutMs);
    }
    throw new Error(`missing probe handler for ${formatPod(pod)}:${container.name}`);
  }
}

async function checkHttp(
  network: Pick<ProbeNetwork, 'http'>,
  request: HttpGetRequest,
  limits: ProbeCallLimits,
): Promise<ProbeOutcome> {
  try {
    return judgeHttp(await network.http(request, limits));
  } catch (error) {
    if (error instanceof HttpGetError || isCancelled(error)) return failureOf(error);
    // The server responded, but not to the end.
    return { state: 'failure', error: asError(error) };
  }
}

function failureOf(error: unknown): ProbeOutcome {
  if (isCancelled(error)) throw error;
  return { state: 'failure', output: asError(error).message };
}

/** Values from other sources count as empty: a probe sees the spec, not the container's environment. */
function literalEnv({ env = [] }: Container): ReadonlyMap<string, string> {
  return new Map(env.map(({ name, value }) => [name, value ?? '']));
}

export function resultOf({ state }: ProbeOutcome): Exclude<ProbeResult, 'unknown'> {
  return state === 'success' || state === 'warning' ? 'success' : 'failure';
}

export function eventOf(
  title: string,
  outcome: ProbeOutcome,
): { readonly reason: 'Unhealthy' | 'ProbeWarning'; readonly message: string } | undefined {
  if (outcome.error !== undefined) {
    const message = `${title} probe errored and resulted in ${outcome.state} state: ${outcome.error.message}`;
    return { reason: 'Unhealthy', message };
  }
  switch (outcome.state) {
    case 'warning':
      return { reason: 'ProbeWarning', message: `${title} probe warning: ${outcome.output}` };
    case 'failure':
      return { reason: 'Unhealthy', message: `${title} probe failed: ${outcome.output}` };
    case 'success':
    case 'unknown':
      return undefined;
  }
}
