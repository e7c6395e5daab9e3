/** Drivers of dynamic resources in memory, on the test's clock: they prepare, hang, lie and die on demand. */
import { Cancelled, type Clock } from '../../async/index.js';
import { asGrpcError, type CallOptions, type ConnectionEvents, GrpcError } from '../../grpc/index.js';
import type { DriverConnection, OpenDriver } from './contracts.js';
import type { NodePrepareResourceResponse, WireClaim } from './gen/dra.js';
import type { DeviceHealth } from './gen/dra-health.js';

export type DriverOperation = 'prepare' | 'unprepare';

export interface DriverCall {
  readonly operation: DriverOperation;
  readonly path: string;
  readonly claims: readonly WireClaim[];
}

/** What a driver does with a call: `done` does the work, and `hang` and `cut` may do it, too, without an answer. */
export type DriverBehaviour =
  | { readonly kind: 'done' }
  | { readonly kind: 'hang'; readonly withEffect?: boolean }
  | { readonly kind: 'fail'; readonly error: GrpcError; readonly withEffect?: boolean }
  /** The driver's process dies in the call. */
  | { readonly kind: 'die'; readonly withEffect?: boolean }
  /** Answers with this instead of what it has done. */
  | { readonly kind: 'answer'; readonly response: object };

interface OpenLine {
  readonly events: ConnectionEvents;
  /** Ends the calls in flight. */
  readonly calls: Set<(error: GrpcError) => void>;
  isOpen: boolean;
}

export class SimulatedDriver {
  /** What the driver has prepared, by the UID of the claim. It outlives the driver's process, as a device does. */
  readonly prepared = new Map<string, WireClaim>();
  readonly calls: DriverCall[] = [];
  behave: (call: DriverCall) => DriverBehaviour = () => ({ kind: 'done' });
  /** Called when the driver has unprepared a claim. */
  onUnprepared: (claim: WireClaim) => void = () => {};
  devices: (claim: WireClaim) => NodePrepareResourceResponse['devices'];
  readonly #clock: Clock;
  readonly #lines = new Set<OpenLine>();
  readonly #streams = new Set<(report: DeviceHealth[] | GrpcError) => void>();
  #isListening = true;

  constructor(
    clock: Clock,
    readonly name: string,
  ) {
    this.#clock = clock;
    this.devices = ({ uid }) => [
      {
        requestNames: [],
        poolName: 'pool',
        deviceName: `device-${uid}`,
        cdiDeviceIds: [`${name}/test=${uid}`],
      },
    ];
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Ends the driver's process: every call and connection breaks. */
  die(): void {
    this.#isListening = false;
    for (const line of this.#lines) this.#drop(line);
    this.endStreams(new GrpcError('Unavailable', 'error reading from server: EOF'));
  }

  revive(): void {
    this.#isListening = true;
  }

  report(devices: DeviceHealth[]): void {
    for (const send of [...this.#streams]) send(devices);
  }

  endStreams(error: GrpcError): void {
    for (const send of [...this.#streams]) send(error);
  }

  connection(events: ConnectionEvents): DriverConnection {
    const line: OpenLine = { events, calls: new Set(), isOpen: false };
    this.#lines.add(line);
    let isClosed = false;
    return {
      connect: () => {
        if (isClosed || line.isOpen) return;
        queueMicrotask(() => {
          if (isClosed || line.isOpen) return;
          if (!this.#isListening) return events.onLost?.();
          line.isOpen = true;
          events.onReady?.();
        });
      },
      close: () => {
        isClosed = true;
        this.#lines.delete(line);
        line.isOpen = false;
        for (const end of [...line.calls])
          end(new GrpcError('Canceled', 'grpc: the client connection is closing'));
      },
      unary: <_Request extends object, Response extends object>(
        { path }: { readonly path: string },
        request: object,
        options: CallOptions,
      ): Promise<Response> =>
        // Each path has one kind of answer, which is made below.
        this.#unary(line, path, request as { claims: WireClaim[] }, options) as Promise<Response>,
      stream: <_Request extends object, Response extends object>(
        _method: object,
        _request: object,
        { signal }: CallOptions,
      ): AsyncIterable<Response> =>
        // The only stream is that of health reports.
        this.#healthStream(signal) as unknown as AsyncIterable<Response>,
    };
  }

  async #unary(
    line: OpenLine,
    path: string,
    { claims }: { readonly claims: readonly WireClaim[] },
    { timeoutMs, signal }: CallOptions,
  ): Promise<object> {
    if (!this.#isListening)
      throw new GrpcError('Unavailable', 'connection error: connect: connection refused');
    if (signal?.aborted) throw new GrpcError('Canceled', 'context canceled');
    const operation: DriverOperation = path.endsWith('NodePrepareResources') ? 'prepare' : 'unprepare';
    const call = { operation, path, claims };
    this.calls.push(call);
    const behaviour = this.behave(call);
    const effect = (): object => this.#work(call);
    return new Promise((resolve, reject) => {
      const timer =
        timeoutMs === undefined
          ? undefined
          : this.#clock.setTimer(timeoutMs, () =>
              end(new GrpcError('DeadlineExceeded', 'context deadline exceeded')),
            );
      const onAbort = (): void => end(asGrpcError(new Cancelled()));
      const end = (error: GrpcError | undefined, response: object = {}): void => {
        timer?.cancel();
        signal?.removeEventListener('abort', onAbort);
        line.calls.delete(end);
        if (error === undefined) resolve(response);
        else reject(error);
      };
      line.calls.add(end);
      signal?.addEventListener('abort', onAbort, { once: true });
      switch (behaviour.kind) {
        case 'done':
          return queueMicrotask(() => end(undefined, effect()));
        case 'answer':
          return queueMicrotask(() => end(undefined, behaviour.response));
        case 'fail':
          if (behaviour.withEffect) effect();
          return queueMicrotask(() => end(behaviour.error));
        case 'hang':
          if (behaviour.withEffect) effect();
          return;
        case 'die':
          if (behaviour.withEffect) effect();
          queueMicrotask(() => this.die());
      }
    });
  }

  #work({ operation, claims }: DriverCall): object {
    for (const claim of claims) {
      if (operation === 'prepare') this.prepared.set(claim.uid, claim);
      else {
        this.prepared.delete(claim.uid);
        this.onUnprepared(claim);
      }
    }
    const answers = claims.map((claim) => [
      claim.uid,
      operation === 'prepare' ? { devices: this.devices(claim), error: '' } : { error: '' },
    ]);
    return { claims: Object.fromEntries(answers) };
  }

  async *#healthStream(signal: AbortSignal | undefined): AsyncGenerator<{ devices: DeviceHealth[] }> {
    if (!this.#isListening) throw new GrpcError('Unavailable', 'connection refused');
    const queue: (DeviceHealth[] | GrpcError)[] = [];
    let wake = (): void => {};
    const send = (report: DeviceHealth[] | GrpcError): void => {
      queue.push(report);
      wake();
    };
    const onAbort = (): void => send(new GrpcError('Canceled', 'context canceled'));
    this.#streams.add(send);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        const next = queue.shift();
        if (next instanceof GrpcError) throw next;
        if (next !== undefined) yield { devices: next };
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#streams.delete(send);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #drop(line: OpenLine): void {
    for (const end of [...line.calls]) end(new GrpcError('Unavailable', 'error reading from server: EOF'));
    if (!line.isOpen) return;
    line.isOpen = false;
    line.events.onLost?.();
  }
}

/** Finds drivers by their sockets; at a socket that is nobody's, nobody listens. */
export function openSimulatedDrivers(drivers: ReadonlyMap<string, SimulatedDriver>): OpenDriver {
  return (endpoint, events) => {
    const driver = drivers.get(endpoint);
    if (driver !== undefined) return driver.connection(events);
    const refuse = (): never => {
      throw new GrpcError('Unavailable', `dial unix ${endpoint}: connect: no such file or directory`);
    };
    return {
      connect: () => queueMicrotask(() => events.onLost?.()),
      close: () => {},
      unary: async () => refuse(),
      stream: () => refuse(),
    };
  };
}
