/** Limits a shared container runtime to the pods of one run. */
import { type CallOptions, type CriRuntime, criMethods } from '../../cri/index.js';

/** Marks the sandboxes and containers of a run. */
export const runLabel = 'nodelet.run';

type CriLabels = Readonly<Record<string, string | undefined>>;

/** Labels everything that is created, and lists only what has the label: a kubelet stops pods that it does not know. */
export function ownPodsOnly(runtime: CriRuntime, owner: string): CriRuntime {
  const mark: CriLabels = { [runLabel]: owner };
  const marked = (labels: CriLabels | undefined): CriLabels => ({ ...labels, ...mark });
  const only = <Filter extends { labelSelector?: CriLabels | undefined }>(filter: Filter | undefined) => ({
    ...filter,
    labelSelector: marked(filter?.labelSelector),
  });
  const bound = Object.keys(criMethods).map((name) => {
    // The method table and CriRuntime have the same names.
    const method = runtime[name as keyof CriRuntime] as (...args: unknown[]) => unknown;
    return [name, method.bind(runtime)];
  });
  return {
    // Built from the table, whose keys are the methods of CriRuntime.
    ...(Object.fromEntries(bound) as CriRuntime),
    runPodSandbox: (request, options) =>
      runtime.runPodSandbox(
        { ...request, config: { ...request.config, labels: marked(request.config?.labels) } },
        options,
      ),
    createContainer: (request, options) =>
      runtime.createContainer(
        {
          ...request,
          config: { ...request.config, labels: marked(request.config?.labels) },
          sandboxConfig: { ...request.sandboxConfig, labels: marked(request.sandboxConfig?.labels) },
        },
        options,
      ),
    listPodSandbox: (request, options) =>
      runtime.listPodSandbox({ ...request, filter: only(request.filter) }, options),
    streamPodSandboxes: (request, options) =>
      runtime.streamPodSandboxes({ ...request, filter: only(request.filter) }, options),
    listContainers: (request, options) =>
      runtime.listContainers({ ...request, filter: only(request.filter) }, options),
    streamContainers: (request, options) =>
      runtime.streamContainers({ ...request, filter: only(request.filter) }, options),
    listContainerStats: (request, options) =>
      runtime.listContainerStats({ ...request, filter: only(request.filter) }, options),
    streamContainerStats: (request, options) =>
      runtime.streamContainerStats({ ...request, filter: only(request.filter) }, options),
    listPodSandboxStats: (request, options) =>
      runtime.listPodSandboxStats({ ...request, filter: only(request.filter) }, options),
    streamPodSandboxStats: (request, options) =>
      runtime.streamPodSandboxStats({ ...request, filter: only(request.filter) }, options),
    getContainerEvents: (request, options) => ownEvents(runtime, owner, request, options),
  };
}

async function* ownEvents(
  runtime: CriRuntime,
  owner: string,
  request: Parameters<CriRuntime['getContainerEvents']>[0],
  options: CallOptions | undefined,
): ReturnType<CriRuntime['getContainerEvents']> & AsyncGenerator {
  for await (const event of runtime.getContainerEvents(request, options)) {
    const labels = event.podSandboxStatus?.labels;
    // An event without labels passes: the kubelet looks up its container among our own.
    if (labels === undefined || Object.keys(labels).length === 0 || labels[runLabel] === owner) yield event;
  }
}
