/** Removes all sandboxes and containers that a runtime lists, in any state. */
import { ContainerState, type CriRuntime, isNotFound } from '../../cri/index.js';

const callTimeoutMs = 30_000;

/** Kills running containers without a grace period. Throws when something cannot be removed. */
export async function sweepPods(runtime: CriRuntime): Promise<void> {
  const options = { timeoutMs: callTimeoutMs };
  const { containers } = await runtime.listContainers({}, options);
  await Promise.all(
    containers
      .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
      .map(({ id }) => unlessGone(runtime.stopContainer({ containerId: id, timeout: 0 }, options))),
  );
  const { items } = await runtime.listPodSandbox({}, options);
  await Promise.all(
    items.map(async ({ id }) => {
      await unlessGone(runtime.stopPodSandbox({ podSandboxId: id }, options));
      await unlessGone(runtime.removePodSandbox({ podSandboxId: id }, options));
    }),
  );
  const left = await runtime.listContainers({}, options);
  await Promise.all(
    left.containers.map(({ id }) => unlessGone(runtime.removeContainer({ containerId: id }, options))),
  );
}

async function unlessGone(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
