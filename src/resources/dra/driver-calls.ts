/**
 * Calls of drivers, measured and in order: while a claim is being prepared by a driver, others that need it wait for the same
 * call, and it is not unprepared. A driver that hangs delays only who needs a claim of it.
 */
import { Cancelled, type Clock, errorText, throwIfCancelled } from '../../async/index.js';
import { type CallOptions, GrpcError, type Init, type MethodInfo } from '../../grpc/index.js';
import type { ClaimRecord, PreparedDevice } from './contracts.js';
import type { DraDrivers, DriverEndpoint } from './drivers.js';
import { type ClaimAnswer, judgePrepared, judgeUnprepared } from './judge-answer.js';
import type { NodeOperation } from './judge-claim.js';
import { draLimits } from './limits.js';
import type { DraMetrics } from './metrics.js';

export interface DriverCallsOptions {
  readonly clock: Clock;
  readonly drivers: DraDrivers;
  readonly metrics: DraMetrics;
  /** Called with every good answer, also when nobody waits for it any more. */
  readonly onPrepared: (claim: ClaimRecord, driver: string, devices: readonly PreparedDevice[]) => void;
  /** Ends with the kubelet. */
  readonly signal: AbortSignal;
}

type Answers<T> = ReadonlyMap<string, ClaimAnswer<T>>;

export class DriverCalls {
  readonly #options: DriverCallsOptions;
  /** By driver and UID of the claim. */
  readonly #preparing = new Map<string, Promise<ClaimAnswer<readonly PreparedDevice[]>>>();

  constructor(options: DriverCallsOptions) {
    this.#options = options;
  }

  /** Rejects with the first problem of these claims. What was asked for goes on when the signal aborts. */
  async prepare(driver: string, claims: readonly ClaimRecord[], signal: AbortSignal): Promise<void> {
    const fresh = claims.filter(({ uid }) => !this.#preparing.has(keyOf(driver, uid)));
    if (fresh.length > 0) this.#begin(driver, fresh);
    const waits = claims.map(({ uid }) => this.#preparing.get(keyOf(driver, uid)));
    const answers = await untilAborted(Promise.all(waits), signal);
    for (const answer of answers) if (answer?.kind === 'failed') throw new Error(answer.problem);
  }

  async unprepare(driver: string, claims: readonly ClaimRecord[], signal: AbortSignal): Promise<void> {
    const waits = claims.map(({ uid }) => this.#preparing.get(keyOf(driver, uid)));
    await untilAborted(Promise.all(waits), signal);
    const endpoint = this.#options.drivers.pick(driver);
    const method = endpoint.prepare.nodeUnprepareResources;
    const answers = await this.#answers('NodeUnprepareResources', claims, async () =>
      judgeUnprepared(claims, await this.#call(endpoint, method, { claims: claims.map(wireClaim) }, signal)),
    );
    throwIfCancelled(signal);
    for (const { uid } of claims) {
      const answer = answers.get(uid);
      if (answer?.kind === 'failed') throw new Error(answer.problem);
    }
  }

  #begin(driver: string, claims: readonly ClaimRecord[]): void {
    const { drivers, signal } = this.#options;
    const answers = this.#answers('NodePrepareResources', claims, async () => {
      const endpoint = drivers.pick(driver);
      const method = endpoint.prepare.nodePrepareResources;
      return judgePrepared(
        claims,
        await this.#call(endpoint, method, { claims: claims.map(wireClaim) }, signal),
      );
    });
    for (const claim of claims) {
      const key = keyOf(driver, claim.uid);
      const outcome = answers.then((all) => {
        this.#preparing.delete(key);
        const answer = all.get(claim.uid) ?? { kind: 'failed', problem: 'the driver did not answer' };
        if (answer.kind === 'good') this.#options.onPrepared(claim, driver, answer.value);
        return answer;
      });
      this.#preparing.set(key, outcome);
    }
  }

  /** Never rejects: a call that failed is the answer for each of its claims. */
  async #answers<T>(
    operation: NodeOperation,
    claims: readonly ClaimRecord[],
    ask: () => Promise<Answers<T>>,
  ): Promise<Answers<T>> {
    try {
      return await ask();
    } catch (error) {
      const problem = error instanceof GrpcError ? `${operation}: ${error.message}` : errorText(error);
      return new Map(claims.map(({ uid }) => [uid, { kind: 'failed', problem }]));
    }
  }

  async #call<Request extends object, Response extends object>(
    { driver, connection }: DriverEndpoint,
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const count = (code: string): void =>
      metrics.calls.observe((clock.monotonic() - startedMs) / 1000, {
        driver_name: driver,
        method_name: method.path,
        grpc_status_code: code,
      });
    try {
      const options: CallOptions = { timeoutMs: draLimits.callMs, signal };
      const response = await connection.unary(method, request, options);
      count('OK');
      return response;
    } catch (error) {
      count(error instanceof GrpcError ? error.codeName : 'Unknown');
      throw error;
    }
  }
}

function keyOf(driver: string, uid: string): string {
  return `${driver}/${uid}`;
}

function wireClaim({ namespace, uid, name }: ClaimRecord): { namespace: string; uid: string; name: string } {
  return { namespace, uid, name };
}

/** Stops waiting when the signal aborts; what is waited for goes on. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCancelled(signal);
  let abort: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Cancelled());
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
