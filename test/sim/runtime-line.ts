/** The line between one kubelet and its runtime: it keeps a journal of the calls, and it can be cut as a crash would. */
import type { Clock } from '../../src/async/index.js';
import {
  type CallOptions,
  CriError,
  type CriMethodName,
  type CriRuntime,
  criMethods,
} from '../../src/cri/index.js';

export interface Call {
  readonly atMs: number;
  readonly method: CriMethodName;
  // Requests are partial messages of as many types as there are methods.
  readonly request: Readonly<Record<string, unknown>>;
}

export interface Cut {
  /** The call at which the kubelet dies, counted from one. */
  readonly call: number;
  /** Whether the runtime still does what that call asks. */
  readonly withEffect: boolean;
}

export interface RuntimeLineOptions {
  readonly cutAt?: Cut | undefined;
  /** Called when the runtime has done what a call asked. */
  readonly afterCall?: () => void;
}

type AnyUnary = (request: object, options?: CallOptions) => Promise<object>;
type AnyStream = (request: object, options?: CallOptions) => AsyncIterable<object>;

/** Calls that only look. */
const looks =
  /^(list|stream|version|status|podSandboxStatus|containerStatus|imageStatus|imageFsInfo|runtime)/;

export class RuntimeLine {
  readonly calls: Call[] = [];
  readonly runtime: CriRuntime;
  readonly #clock: Clock;
  readonly #cutAt: Cut | undefined;
  readonly #down = new AbortController();

  readonly #afterCall: () => void;

  constructor(target: CriRuntime, clock: Clock, { cutAt, afterCall = () => {} }: RuntimeLineOptions = {}) {
    this.#clock = clock;
    this.#cutAt = cutAt;
    this.#afterCall = afterCall;
    const methods = Object.entries(criMethods).map(([name, { serverStreaming }]) => {
      // The keys of the method table are the methods of CriRuntime.
      const method = name as CriMethodName;
      return [
        method,
        serverStreaming
          ? this.#stream(method, target[method] as unknown as AnyStream)
          : this.#unary(method, target[method] as unknown as AnyUnary),
      ];
    });
    this.runtime = Object.fromEntries(methods) as CriRuntime;
  }

  get isCut(): boolean {
    return this.#down.signal.aborted;
  }

  /** From now on nothing gets through in either direction. */
  cut(): void {
    this.#down.abort();
  }

  /** The calls that change something. */
  get changes(): readonly Call[] {
    return this.calls.filter(({ method }) => !looks.test(method) && method !== 'getContainerEvents');
  }

  of(method: CriMethodName): readonly Call[] {
    return this.calls.filter((call) => call.method === method);
  }

  #enter(method: CriMethodName, request: object): boolean {
    if (this.isCut) throw gone();
    this.calls.push({ atMs: this.#clock.now(), method, request: { ...request } });
    const isLast = this.calls.length === this.#cutAt?.call;
    if (isLast && !this.#cutAt?.withEffect) {
      this.cut();
      throw gone();
    }
    return isLast;
  }

  #unary(method: CriMethodName, target: AnyUnary): AnyUnary {
    return async (request, options) => {
      const isLast = this.#enter(method, request);
      const work = target(request, this.#linked(options));
      if (isLast) this.cut();
      try {
        const answer = await work;
        if (this.isCut) throw gone();
        return answer;
      } catch (error) {
        throw this.isCut ? gone() : error;
      } finally {
        this.#afterCall();
      }
    };
  }

  #stream(method: CriMethodName, target: AnyStream): AnyStream {
    const line = this;
    return async function* (request, options) {
      line.#enter(method, request);
      try {
        for await (const message of target(request, line.#linked(options))) {
          if (line.isCut) throw gone();
          yield message;
        }
      } catch (error) {
        throw line.isCut ? gone() : error;
      }
    };
  }

  #linked(options: CallOptions | undefined): CallOptions {
    const signals = options?.signal === undefined ? [] : [options.signal];
    return { ...options, signal: AbortSignal.any([...signals, this.#down.signal]) };
  }
}

function gone(): CriError {
  return new CriError('Unavailable', 'the kubelet is gone');
}
