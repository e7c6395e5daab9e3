/** Runs lifecycle hooks of each kind and words their failures for users. */
import { type Clock, errorText, isCancelled, sleep } from '../async/index.js';
import { type CriRuntime, commandOutcome } from '../cri/index.js';
import {
  formatHost,
  type HttpGetRequest,
  httpGet,
  httpGetRequest,
  PlainHttpResponse,
} from '../http-get/index.js';
import {
  type Container,
  type ExecAction,
  formatPod,
  goQuote,
  type HTTPGetAction,
  type LifecycleHandler,
  type Pod,
  type SleepAction,
} from '../kube/index.js';
import { podRef, type Timeline } from '../timeline/index.js';
import { createHookMetrics, type HookMetrics } from './metrics.js';

/** The User-Agent of hooks, with the Kubernetes version they follow. */
const userAgent = 'kube-lifecycle/1.37';

export interface LifecycleHooksOptions {
  readonly cri: Pick<CriRuntime, 'execSync'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Default: metrics that nobody reads. */
  readonly metrics?: HookMetrics;
  /** The pod's current addresses from the runtime, primary first. */
  /** Default: by the machine's network. */
  readonly request?: typeof httpGet;
  readonly podIps: (pod: Pod) => Promise<readonly string[]>;
}

/** A failed hook. Users see the message only in a waiting container's status, so it carries the whole text. */
export class HookFailure extends Error {
  override readonly name = 'HookFailure';
}

type RunHook = (pod: Pod, container: Container, containerId: string, signal?: AbortSignal) => Promise<void>;

/** Neither hook has a limit of its own: the caller bounds preStop, nothing bounds postStart. */
export function createLifecycleHooks(options: LifecycleHooksOptions): {
  readonly postStart: RunHook;
  readonly preStop: RunHook;
} {
  const runner = new HookRunner(options);
  return {
    async postStart(pod, container, containerId, signal) {
      await runner.run(container.lifecycle?.postStart, { pod, container, containerId, signal });
    },
    async preStop(pod, container, containerId, signal) {
      await runner.run(container.lifecycle?.preStop, { pod, container, containerId, signal });
    },
  };
}

interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly signal: AbortSignal | undefined;
}

class HookRunner {
  readonly #options: LifecycleHooksOptions;
  readonly #metrics: HookMetrics;

  constructor(options: LifecycleHooksOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createHookMetrics();
  }

  async run(handler: LifecycleHandler | undefined, target: HookTarget): Promise<void> {
    if (handler === undefined) return;
    const { exec, httpGet: get, sleep: pause } = handler;
    if (exec !== undefined) await this.#exec(exec, target);
    else if (get !== undefined) await this.#http(get, target);
    else if (pause !== undefined) await this.#sleep(pause, target);
    // tcpSocket is not a valid hook; its behaviour was never defined.
    else throw new HookFailure(`Cannot run handler: invalid handler: ${JSON.stringify(handler)}`);
  }

  async #exec({ command = [] }: ExecAction, target: HookTarget): Promise<void> {
    const { containerId, signal } = target;
    const failed = (error: unknown, output: string): HookFailure =>
      hookFailure('Exec', `[${command.join(' ')}]`, target, error, `, message: ${goQuote(output)}`);
    const response = await this.#options.cri
      .execSync({ containerId, cmd: command, timeout: 0 }, signal === undefined ? {} : { signal })
      .catch((error: unknown) => {
        throw failed(error, '');
      });
    const { output, error } = commandOutcome(command, response);
    if (error !== undefined) throw failed(error, output.toString());
  }

  async #http(action: HTTPGetAction, target: HookTarget): Promise<void> {
    try {
      const { container, signal } = target;
      const podIp = await this.#host(action, target);
      const request = httpGetRequest(action, { container, podIp, userAgent });
      await this.#get(request, signal).catch((error: unknown) => this.#fallBack(request, target, error));
    } catch (error) {
      throw hookFailure('HTTP', action.path ?? '', target, error);
    }
  }

  /** Any response counts as success. */
  async #get(request: HttpGetRequest, signal: AbortSignal | undefined): Promise<void> {
    const { clock, request: send = httpGet } = this.#options;
    await send(request, { clock, timeoutMs: undefined, signal, ignoresBody: true });
  }

  /** Hooks written with HTTPS for a plain HTTP server have always worked, so they still must. */
  async #fallBack(request: HttpGetRequest, { pod, signal }: HookTarget, error: unknown): Promise<void> {
    if (!(error instanceof PlainHttpResponse)) throw error;
    await this.#get(plainRequest(request), signal).catch(() => {
      throw error;
    });
    this.#metrics.httpFallbacks.inc();
    this.#options.timeline.event(
      podRef(pod),
      'Warning',
      'LifecycleHTTPFallback',
      `request to HTTPS lifecycle hook ${formatHost(request.url)} got HTTP response, retry with HTTP succeeded`,
    );
  }

  async #host({ host }: HTTPGetAction, { pod }: HookTarget): Promise<string> {
    if (host !== undefined && host !== '') return host;
    const [first] = await this.#options.podIps(pod);
    if (first === undefined) {
      throw new Error(`failed to find networking container: pod ${goQuote(formatPod(pod))} has no address`);
    }
    return first;
  }

  async #sleep({ seconds }: SleepAction, target: HookTarget): Promise<void> {
    if (seconds <= 0) return;
    try {
      await sleep(this.#options.clock, seconds * 1000, target.signal);
    } catch (cause) {
      if (!isCancelled(cause)) throw cause;
      this.#metrics.cutSleeps.inc();
      const error = new Error('container terminated before sleep hook finished', { cause });
      throw hookFailure('Sleep', String(seconds), target, error);
    }
  }
}

/** The same request over plain HTTP, without its credentials: anyone on the way could read them. */
function plainRequest({ url, hostHeader, headers }: HttpGetRequest): HttpGetRequest {
  return {
    url: { ...url, scheme: 'http' },
    hostHeader,
    headers: headers.filter(([name]) => name !== 'Authorization'),
  };
}

function hookFailure(
  kind: 'Exec' | 'HTTP' | 'Sleep',
  what: string,
  { pod, container }: HookTarget,
  error: unknown,
  more = '',
): HookFailure {
  return new HookFailure(
    `${kind} lifecycle hook (${what}) for Container ${goQuote(container.name)} in Pod ${goQuote(formatPod(pod))} failed - error: ${errorText(error)}${more}`,
    { cause: error },
  );
}
