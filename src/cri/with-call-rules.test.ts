/** Tests deadlines, signals, checks and metrics of calls in virtual time. */
import { describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../async/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import type { OperationType } from './call-rules.js';
import { CriError, isDeadlineExceeded, isUnimplemented } from './errors.js';
import { VersionResponse } from './gen/cri.js';
import { createCriMetrics } from './metrics.js';
import { type CallOptions, type CriRuntime, unimplementedCriRuntime } from './runtime.js';
import { withCallRules } from './with-call-rules.js';

const T = 120_000;
const never = (): Promise<never> => new Promise(() => {});
const fullVersion = VersionResponse.create({
  version: '0.1.0',
  runtimeName: 'b',
  runtimeVersion: 'c',
  runtimeApiVersion: 'd',
});

describe('withCallRules', () => {
  const failedOnce = (operation: OperationType, durationMs = 0): Record<string, number> => ({
    [`kubelet_runtime_operations_total{operation_type="${operation}"}`]: 1,
    [`kubelet_runtime_operations_errors_total{operation_type="${operation}"}`]: 1,
    [`kubelet_runtime_operations_duration_seconds_count{operation_type="${operation}"}`]: 1,
    [`kubelet_runtime_operations_duration_seconds_sum{operation_type="${operation}"}`]: durationMs / 1000,
  });

  function wrap(part: Partial<CriRuntime>) {
    const clock = new VirtualClock();
    const registry = new Registry();
    const runtime = withCallRules(
      { ...unimplementedCriRuntime(), ...part },
      {
        requestTimeoutMs: T,
        clock,
        metrics: createCriMetrics(registry),
      },
    );
    return { clock, registry, runtime };
  }

  it('ends a call at its deadline even if the runtime does not, and aborts its signal', async () => {
    let signal: AbortSignal | undefined;
    const { clock, registry, runtime } = wrap({
      runPodSandbox: (_, options) => {
        signal = options?.signal;
        return never();
      },
    });
    const outcome = runtime.runPodSandbox({}).catch((error) => error);
    await clock.advance(2 * T - 1);
    expect(samples(registry)).toEqual({});
    await clock.advance(1);
    expect((await outcome).message).toBe(
      'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    );
    expect(signal?.aborted).toBe(true);
    expect(samples(registry)).toEqual(failedOnce('run_podsandbox', 2 * T));
    expect(clock.pendingTimers).toBe(0);
  });

  it('lets the caller replace the deadline', async () => {
    const { clock, runtime } = wrap({ pullImage: never });
    const outcome = runtime.pullImage({}, { timeoutMs: 10 }).catch((error) => error);
    await clock.advance(10);
    expect(isDeadlineExceeded(await outcome)).toBe(true);
  });

  it('ends a call at once when its signal aborts', async () => {
    const { clock, runtime } = wrap({ pullImage: never });
    const controller = new AbortController();
    const outcome = runtime.pullImage({}, { signal: controller.signal }).catch((error) => error);
    controller.abort();
    expect((await outcome).message).toBe('rpc error: code = Canceled desc = context canceled');
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives plain errors of the runtime the code Unknown', async () => {
    const { runtime } = wrap({ removeImage: () => Promise.reject(new Error('disk')) });
    await expect(runtime.removeImage({})).rejects.toThrow('rpc error: code = Unknown desc = disk');
  });

  it('handles a runtime that throws instead of rejecting', async () => {
    const { runtime } = wrap({
      removeImage: () => {
        throw new CriError('Aborted', 'now');
      },
    });
    await expect(runtime.removeImage({})).rejects.toMatchObject({ codeName: 'Aborted' });
  });

  it('checks responses', async () => {
    const { registry, runtime } = wrap({ version: async () => VersionResponse.create() });
    await expect(runtime.version({})).rejects.toThrow(/^not all fields are set/);
    expect(samples(registry)).toEqual(failedOnce('version'));
  });

  it('treats NotFound of StopContainer as success and still counts the error', async () => {
    const { registry, runtime } = wrap({
      stopContainer: () => Promise.reject(new CriError('NotFound', 'gone')),
    });
    await expect(runtime.stopContainer({ timeout: 1 })).resolves.toEqual({});
    expect(samples(registry)).toEqual(failedOnce('stop_container'));
  });

  it.each([
    ['Unimplemented', 'x', true],
    ['Unknown', 'method not implemented', true],
    ['Unknown', 'x', false],
    ['Internal', 'not implemented', false],
  ] as const)('UpdatePodSandboxResources %s "%s" counts as success: %s', async (code, details, success) => {
    const { runtime } = wrap({
      updatePodSandboxResources: () => Promise.reject(new CriError(code, details)),
    });
    const outcome = await runtime.updatePodSandboxResources({}).then(
      () => true,
      () => false,
    );
    expect(outcome).toBe(success);
  });

  it('counts a stream when it ends', async () => {
    const { registry, runtime } = wrap({});
    const read = async () => {
      for await (const _ of runtime.getContainerEvents({}));
    };
    await expect(read()).rejects.toSatisfy(isUnimplemented);
    expect(samples(registry)).toEqual(failedOnce('get_container_events'));
  });

  it('keeps `this` of runtimes that are classes', async () => {
    class Runtime {
      readonly answer = VersionResponse.create({
        version: 'a',
        runtimeName: 'b',
        runtimeVersion: 'c',
        runtimeApiVersion: 'd',
      });
      async version() {
        return this.answer;
      }
    }
    const runtime = Object.assign(new Runtime(), {
      ...unimplementedCriRuntime(),
      version: Runtime.prototype.version,
    });
    const ruled = withCallRules(runtime, { requestTimeoutMs: T, clock: new VirtualClock() });
    await expect(ruled.version({})).resolves.toMatchObject({ runtimeName: 'b' });
  });

  it('measures calls in the exact buckets of the kubelet', async () => {
    const { registry, runtime } = wrap({ version: async () => VersionResponse.create() });
    await runtime.version({}).catch(() => {});
    const bounds = [...registry.text().matchAll(/le="([^"]+)"/g)].map(([, bound]) => bound);
    expect(bounds).toHaveLength(15);
    expect(bounds.slice(0, 6)).toEqual(['0.005', '0.0125', '0.03125', '0.078125', '0.1953125', '0.48828125']);
  });
});

describe('the signal of the options', () => {
  const abortable = (runtime: CriRuntime, signal: AbortSignal, runtimeEndsCalls = false): CriRuntime =>
    withCallRules(runtime, { requestTimeoutMs: T, clock: new VirtualClock(), signal, runtimeEndsCalls });
  /** Ends its calls itself, with the reason of the signal. */
  const untilAborted = (seen: (AbortSignal | undefined)[] = []): CriRuntime => ({
    ...unimplementedCriRuntime(),
    version: (_request: object, options?: CallOptions) => {
      const signal = options?.signal;
      seen.push(signal);
      return new Promise<VersionResponse>((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
    },
    async *getContainerEvents(_request: object, options?: CallOptions) {
      const signal = options?.signal;
      seen.push(signal);
      await new Promise<void>((_, reject) =>
        signal?.addEventListener('abort', () => reject(new CriError('Canceled', 'context canceled'))),
      );
    },
  });

  it('does not change responses and errors', async () => {
    const runtime = { ...unimplementedCriRuntime(), version: async () => fullVersion };
    const wrapped = abortable(runtime, new AbortController().signal);
    expect((await wrapped.version({})).version).toBe('0.1.0');
    await expect(wrapped.status({})).rejects.toMatchObject({ codeName: 'Unimplemented' });
  });
  it('ends a call that never returns, and refuses later ones', async () => {
    const stop = new AbortController();
    const runtime = { ...unimplementedCriRuntime(), version: () => new Promise<VersionResponse>(() => {}) };
    const wrapped = abortable(runtime, stop.signal);
    const waiting = wrapped.version({});
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ codeName: 'Canceled' });
    await expect(wrapped.version({})).rejects.toMatchObject({ codeName: 'Canceled' });
  });
  it("keeps the caller's own signal working", async () => {
    let seen: AbortSignal | undefined;
    const runtime = {
      ...unimplementedCriRuntime(),
      version: (_request: object, options?: CallOptions) => {
        seen = options?.signal;
        return new Promise<VersionResponse>((_, reject) =>
          seen?.addEventListener('abort', () => reject(new Error('own'))),
        );
      },
    };
    const own = new AbortController();
    const waiting = abortable(runtime, new AbortController().signal).version({}, { signal: own.signal });
    own.abort();
    await expect(waiting).rejects.toThrow('own');
  });
  it.each([
    ['the owner', true, false],
    ['the owner, of a runtime that ends its calls', true, true],
    ['the caller', false, false],
    ['the caller, of a runtime that ends its calls', false, true],
  ])('a call with a signal of its own ends with %s', async (_, byOwner, runtimeEndsCalls) => {
    const [stop, own] = [new AbortController(), new AbortController()];
    const waiting = abortable(untilAborted(), stop.signal, runtimeEndsCalls).version(
      {},
      { signal: own.signal },
    );
    (byOwner ? stop : own).abort(new CriError('Canceled', 'context canceled'));
    await expect(waiting).rejects.toMatchObject({ codeName: 'Canceled' });
  });
  it.each([
    ['the owner', true],
    ['the caller', false],
  ])('a stream ends with %s', async (_, byOwner) => {
    const [stop, own] = [new AbortController(), new AbortController()];
    const events = abortable(untilAborted(), stop.signal).getContainerEvents({}, { signal: own.signal });
    const next = events[Symbol.asyncIterator]().next();
    (byOwner ? stop : own).abort();
    await expect(next).rejects.toMatchObject({ codeName: 'Canceled' });
  });
  it('is passed unchanged to a runtime that ends its calls', async () => {
    const stop = new AbortController();
    const seen: (AbortSignal | undefined)[] = [];
    const waiting = abortable(untilAborted(seen), stop.signal, true).version({});
    stop.abort(new CriError('Canceled', 'context canceled'));
    await expect(waiting).rejects.toMatchObject({ codeName: 'Canceled' });
    expect(seen).toEqual([stop.signal]);
  });
});

describe('runtimes that end their calls in time', () => {
  it('by default, the wrapper ends the calls', async () => {
    const stuck = { ...unimplementedCriRuntime(), version: never };
    const ruled = withCallRules(stuck, { requestTimeoutMs: 20, clock: systemClock });
    await expect(ruled.version({})).rejects.toThrow('context deadline exceeded');
  });

  it('with runtimeEndsCalls, the runtime gets the deadline and must end the calls', async () => {
    let given: unknown;
    const prompt = {
      ...unimplementedCriRuntime(),
      version: async (_request: object, options?: CallOptions) => {
        given = options;
        return VersionResponse.create();
      },
    };
    const ruled = withCallRules(prompt, {
      requestTimeoutMs: 20,
      clock: systemClock,
      runtimeEndsCalls: true,
    });
    await ruled.version({}).catch(() => undefined);
    expect(given).toEqual({ timeoutMs: 20, signal: undefined });
  });
});
