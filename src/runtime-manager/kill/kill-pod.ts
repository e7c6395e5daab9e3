/**
 * Kills a pod in the runtime: all running containers in parallel, in termination order, then every sandbox.
 */
import { errorText, throwIfCancelled } from '../../async/index.js';
import { isNotFound, type ObservedPod, type ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { SyncFailure, type SyncStepResult } from '../contracts.js';
import { recordFailure } from '../fault-entry.js';
import { type KillPorts, killContainer } from './kill-container.js';
import { terminationOrder } from './termination-order.js';
import { TerminationOrdering } from './termination-ordering.js';

export interface PodKillRequest {
  readonly pod: Pod | undefined;
  readonly observed: ObservedPodStatus | ObservedPod;
  readonly because: string;
  readonly graceOverrideSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One result for each container that ran and one for each sandbox that could not be stopped, or one for all.
 * Rejects with Cancelled when the signal is aborted.
 */
export async function killPod(ports: KillPorts, kill: PodKillRequest): Promise<SyncStepResult[]> {
  const running: { readonly id: string; readonly name: string }[] = [];
  for (const { id, name, state } of kill.observed.containers) {
    if (state === 'running') running.push({ id, name });
  }
  const order = kill.pod && terminationOrder(kill.pod, new Set(running.map(({ name }) => name)));
  const turns = order === undefined || order.size === 0 ? undefined : new TerminationOrdering(order);
  const containers = await Promise.all(
    running.map(async ({ id, name }): Promise<SyncStepResult> => {
      try {
        await killContainer(ports, { ...kill, id, name, reason: 'Unknown', turns, isWithPod: true });
        return { action: 'KillContainer', target: name };
      } catch (error) {
        return { action: 'KillContainer', target: name, failure: failed('KillContainerError', error) };
      }
    }),
  );
  throwIfCancelled(kill.signal);
  const failures: SyncStepResult[] = [];
  for (const sandbox of kill.observed.sandboxes) {
    const failure = await stopSandbox(ports, kill, sandbox.id);
    if (failure !== undefined) {
      failures.push({ action: 'KillPodSandbox', target: kill.observed.uid, failure });
    }
  }
  if (failures.length > 0) return [...containers, ...failures];
  return [...containers, { action: 'KillPodSandbox', target: kill.observed.uid }];
}

async function stopSandbox(
  ports: KillPorts,
  kill: PodKillRequest,
  id: string,
): Promise<SyncFailure | undefined> {
  const { cri, clock, timeline } = ports;
  const { uid, name, namespace } = kill.observed;
  const startedMs = clock.monotonic();
  const entry = {
    kind: 'effect',
    what: 'sandbox.stop',
    pod: { uid, name, namespace },
    because: kill.because,
    data: { sandboxId: id },
  } as const;
  try {
    const stop = (): Promise<unknown> => cri.stopPodSandbox({ podSandboxId: id }, { signal: kill.signal });
    await (ports.ends?.sandbox(stop, kill.signal) ?? stop());
  } catch (error) {
    if (!isNotFound(error)) throwIfCancelled(kill.signal);
    recordFailure(timeline, 'stopPodSandbox', error, entry);
    if (!isNotFound(error)) {
      timeline.record({
        ...entry,
        kind: 'problem',
        message: 'Could not stop the sandbox',
        durationMs: clock.monotonic() - startedMs,
        error,
      });
      return failed('KillPodSandboxError', error);
    }
  }
  timeline.record({ ...entry, message: 'Stopped the sandbox', durationMs: clock.monotonic() - startedMs });
  return undefined;
}

function failed(reason: 'KillContainerError' | 'KillPodSandboxError', error: unknown): SyncFailure {
  return new SyncFailure(reason, errorText(error), { cause: error });
}
