/** Lifecycle hooks on a hollow node: commands run in the simulated container, requests are answered by its script. */
import { createLifecycleHooks, type LifecycleHooksOptions } from '../../hooks/index.js';
import { type Container, type LifecycleHandler, type Pod, runtimeContainerId } from '../../kube/index.js';
import type { LifecycleHooks } from '../../runtime-manager/index.js';
import type { ProbedRuntime } from './probe-network.js';

export function hollowHooks(
  runtime: ProbedRuntime,
  options: Pick<LifecycleHooksOptions, 'cri' | 'clock' | 'timeline'>,
): LifecycleHooks {
  const hooks = createLifecycleHooks({ ...options, podIps: async () => [] });
  const answered = (
    handler: LifecycleHandler | undefined,
    container: Container,
    containerId: string,
  ): boolean => {
    if (handler?.httpGet === undefined) return false;
    const { port, path = '/' } = handler.httpGet;
    const number =
      typeof port === 'number'
        ? port
        : (container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port));
    const answer = runtime.probe(runtimeContainerId(containerId), { port: number, path });
    if (answer?.kind === 'status' && answer.status < 400) return true;
    throw new Error(`the simulated container ${container.name} does not answer on port ${port}`);
  };
  return {
    async postStart(pod: Pod, container: Container, containerId: string, signal?: AbortSignal) {
      if (answered(container.lifecycle?.postStart, container, containerId)) return;
      await hooks.postStart(pod, container, containerId, signal);
    },
    async preStop(pod: Pod, container: Container, containerId: string, signal?: AbortSignal) {
      if (answered(container.lifecycle?.preStop, container, containerId)) return;
      await hooks.preStop(pod, container, containerId, signal);
    },
  };
}
