/** Asks the runtime for its state periodically and remembers what the loop and the node report need of it. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import type { CriRuntime, RuntimeFeatures, RuntimeHandler, RuntimeHandlerFeatures } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import { ManagerStartFailure } from './managers.js';
import { joinErrors, judgeConditions, type RuntimeHealthCheck, runtimeErrors } from './runtime-state.js';

export interface RuntimeCheckOptions {
  readonly runtime: Pick<CriRuntime, 'status'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly healthChecks: readonly RuntimeHealthCheck[];
  /** Starts what needs a working runtime; runs before the first good status counts, again if it failed. */
  readonly onFirstReady: () => Promise<void>;
  /** Aborted when the kubelet stops: a check that is cut off by it tells nothing of the runtime. */
  readonly stopping: AbortSignal;
  readonly periodMs?: number;
}

export class RuntimeCheck {
  readonly #options: RuntimeCheckOptions;
  #networkError: string | undefined = 'network state unknown';
  #runtimeError: string | undefined;
  #lastGoodMs: number | undefined;
  #handlers: readonly RuntimeHandler[] = [];
  #features: RuntimeFeatures | undefined;
  #firstReadyDone = false;
  #lastReported = '';
  #checking: Promise<void> | undefined;

  constructor(options: RuntimeCheckOptions) {
    this.#options = options;
  }

  /** Why pods that need a network cannot start, if so. */
  get networkError(): string | undefined {
    return this.#networkError;
  }

  get handlers(): readonly RuntimeHandler[] {
    return this.#handlers;
  }

  /** Whether a handler of the runtime has a feature; one that the runtime does not know has none. */
  supports(handler: string, feature: keyof RuntimeHandlerFeatures): boolean {
    return this.#handlers.find(({ name }) => name === handler)?.features?.[feature] ?? false;
  }

  /** Whether containers can be kept from groups that their image gives them. */
  get hasStrictGroups(): boolean {
    return this.#features?.supplementalGroupsPolicy ?? false;
  }

  /** What the runtime can do whichever handler is used; undefined where it does not say. */
  get features(): RuntimeFeatures | undefined {
    return this.#features;
  }

  /** Why no pod is synced now; empty when the loop may run. */
  errors(): string[] {
    const { clock, healthChecks } = this.#options;
    const healthErrors = healthChecks.flatMap(({ name, check }) => {
      const error = check();
      return error === undefined ? [] : [{ name, error }];
    });
    return runtimeErrors({
      lastGoodMs: this.#lastGoodMs,
      nowMs: clock.monotonic(),
      runtimeError: this.#runtimeError,
      healthErrors,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.checkOnce();
      // Until the runtime has answered once there is nothing else to do, so it is asked more often.
      await sleep(
        this.#options.clock,
        this.#lastGoodMs === undefined ? 250 : (this.#options.periodMs ?? 5_000),
        signal,
      );
    }
  }

  /** One check; a second caller shares the one under way. */
  checkOnce(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { runtime, clock, onFirstReady } = this.#options;
    const answer = await runtime.status({ verbose: false }).catch((error: unknown) => {
      this.#report(`cannot read the runtime's status: ${errorText(error)}`);
      return undefined;
    });
    if (answer?.status === undefined) return;
    const verdict = judgeConditions(answer.status.conditions);
    this.#networkError = verdict.networkError;
    this.#runtimeError = verdict.runtimeError;
    const errors = [verdict.runtimeError, verdict.networkError].filter((error) => error !== undefined);
    this.#report(errors.length === 0 ? '' : joinErrors(errors));
    if (verdict.runtimeError !== undefined) return;
    this.#handlers = [...answer.runtimeHandlers].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#features = answer.features;
    if (!this.#firstReadyDone) {
      try {
        await onFirstReady();
      } catch (error) {
        if (error instanceof ManagerStartFailure) throw error;
        this.#report(`the runtime cannot be used yet: ${errorText(error)}`);
        return;
      }
      this.#firstReadyDone = true;
    }
    this.#lastGoodMs = clock.monotonic();
  }

  #report(problem: string): void {
    if (problem === this.#lastReported || this.#options.stopping.aborted) return;
    this.#lastReported = problem;
    this.#options.timeline.record(
      problem === ''
        ? {
            kind: 'observation',
            what: 'runtime.state',
            message: 'the container runtime is ready',
            level: 'info',
            data: { ready: true },
          }
        : { kind: 'problem', what: 'runtime.state', message: problem, data: { ready: false } },
    );
  }
}
