/** What keeps the sync loop from working: the state of the runtime, its network, and of what observes it. */

export const runtimeDownAfterMs = 30_000;

/** Something whose failure pauses the sync loop, such as the PLEG. */
export interface RuntimeHealthCheck {
  readonly name: string;
  /** The text of what is wrong, or undefined. */
  check(): string | undefined;
}

export interface RuntimeHealth {
  /** Monotonic milliseconds of the last good status; undefined before the first. */
  readonly lastGoodMs: number | undefined;
  readonly nowMs: number;
  readonly runtimeError: string | undefined;
  readonly healthErrors: readonly { readonly name: string; readonly error: string }[];
}

/** The reasons for which no pod is synced now; none means that the loop runs. */
export function runtimeErrors(facts: RuntimeHealth): string[] {
  const errors: string[] = [];
  if (facts.lastGoodMs === undefined)
    errors.push('container runtime status check may not have completed yet');
  else if (facts.nowMs - facts.lastGoodMs >= runtimeDownAfterMs) errors.push('container runtime is down');
  for (const { name, error } of facts.healthErrors) errors.push(`${name} is not healthy: ${error}`);
  if (facts.runtimeError !== undefined) errors.push(facts.runtimeError);
  return errors;
}

/** Several errors as one text: `a` or `[a, b]`. */
export function joinErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`;
}

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface ConditionVerdict {
  readonly networkError: string | undefined;
  readonly runtimeError: string | undefined;
}

/** What the conditions that a runtime reports mean. */
export function judgeConditions(conditions: readonly RuntimeCondition[]): ConditionVerdict {
  const find = (type: string): RuntimeCondition | undefined =>
    conditions.find((condition) => condition.type === type);
  const network = find('NetworkReady');
  const runtime = find('RuntimeReady');
  return {
    networkError:
      network?.status === true
        ? undefined
        : `container runtime network not ready: ${formatCondition(network)}`,
    runtimeError:
      runtime?.status === true ? undefined : `container runtime not ready: ${formatCondition(runtime)}`,
  };
}

function formatCondition(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return '<nil>';
  return `${condition.type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}

/** The text by which a loop that stands still is reported, or undefined while it moves. */
export function syncLoopHealth(
  lastMs: number | undefined,
  nowMs: number,
  resyncMs: number,
): string | undefined {
  if (lastMs === undefined) return undefined;
  const limitMs = Math.max(2 * resyncMs, 300_000);
  return nowMs - lastMs > limitMs ? 'sync Loop took longer than expected' : undefined;
}
