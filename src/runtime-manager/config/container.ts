/** The CRI config of a container. */
import { type ContainerConfig, type Init, Signal } from '../../cri/index.js';
import { type AnyContainer, formatPod, type Pod } from '../../kube/index.js';
import type { EnsuredImage, ImageUser } from '../contracts.js';
import type { UserNamespaceMapping } from '../userns/index.js';
import { type EnvValue, envBytes } from './environment.js';
import { expand } from './expansion.js';
import { containerAnnotations, containerLabels } from './labels.js';
import { containerLogPath } from './paths.js';
import { containerResources } from './resources.js';
import { containerSecurityContext } from './security.js';
import type { RuntimeSettings } from './settings.js';

export interface ContainerRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly restartCount: number;
  readonly image: EnsuredImage;
  readonly environment: ReadonlyMap<string, EnvValue>;
  /** What `$(NAME)` in commands and arguments refers to; absent: the environment. */
  readonly expandable?: ReadonlyMap<string, EnvValue>;
  readonly imageUser: ImageUser;
  readonly volumeGroups: readonly number[];
  readonly hasExclusiveCpus: boolean;
  readonly targetContainerId: string | undefined;
  /** The pod's own id mapping; absent for a pod in the host's user namespace. */
  readonly users?: UserNamespaceMapping | undefined;
  readonly settings: RuntimeSettings;
}

/** Everything but the mounts, whose files are made only once this has succeeded. */
export function containerConfig(request: ContainerRequest): Init<ContainerConfig> {
  const { pod, container, restartCount, settings } = request;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: request.image.ref, userSpecifiedImage: container.image ?? '' },
    command: expandAll(container.command, request),
    args: expandAll(container.args, request),
    workingDir: container.workingDir ?? '',
    envs: [...request.environment].map(([key, value]) => ({ key, value: envBytes(value) })),
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: {
      resources: containerResources(pod, container, settings, request.hasExclusiveCpus),
      securityContext: containerSecurityContext(request),
    },
    ...(settings.containerStopSignals ? { stopSignal: stopSignal(pod, container) } : {}),
  };
}

function expandAll(
  texts: readonly string[] | undefined,
  { pod, container, environment, expandable = environment }: ContainerRequest,
): string[] {
  const lookup = (name: string): string | undefined => {
    const value = expandable.get(name);
    if (value === undefined || typeof value === 'string') return value;
    throw new Error(
      `pod "${formatPod(pod)}", container ${container.name}: command and args cannot contain $(${name}), as its value is not UTF-8 text; let the process read the variable itself`,
    );
  };
  return (texts ?? []).map((text) => expand(text, lookup));
}

function stopSignal(pod: Pod, container: AnyContainer): Signal {
  const name = container.lifecycle?.stopSignal;
  if (name === undefined || name === '') return Signal.SIGNAL_RUNTIME_DEFAULT;
  for (const [known, signal] of Object.entries(Signal)) {
    if (known === `SIGNAL_${name}` && signal !== Signal.SIGNAL_RUNTIME_DEFAULT) return signal;
  }
  throw new Error(
    `pod "${formatPod(pod)}", container ${container.name}: lifecycle.stopSignal "${name}" is not a known signal; write it like SIGTERM`,
  );
}
