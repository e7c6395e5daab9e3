/** The very calls by which nodelet starts a pod, recorded once, so that bare calls can start the same pods. */
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CriRuntime } from '../src/cri/index.js';
import { createKubelet } from '../src/kubelet/index.js';
import { nodeDns } from './agent.js';
import type { BenchGround } from './ground.js';
import { idlePod, removeAllPods, showManifests, untilRunning } from './pods.js';

type SandboxRequest = Parameters<CriRuntime['runPodSandbox']>[0];
type ContainerRequest = Parameters<CriRuntime['createContainer']>[0];

export interface RecordedPod {
  /** As the requests name it, and what is put in the place of either for another pod. */
  readonly name: string;
  readonly uid: string;
  readonly sandbox: SandboxRequest;
  readonly container: ContainerRequest;
}

const recordedName = 'recorded';

/** A runtime that remembers what it was asked for; `recorded` throws if that was no whole pod. */
export interface RecordingRuntime {
  readonly runtime: CriRuntime;
  recorded(): Pick<RecordedPod, 'sandbox' | 'container'>;
}

export function recordingRuntime(cri: CriRuntime): RecordingRuntime {
  let sandbox: SandboxRequest | undefined;
  let container: ContainerRequest | undefined;
  return {
    runtime: {
      ...cri,
      runPodSandbox(request, options) {
        sandbox = request;
        return cri.runPodSandbox(request, options);
      },
      createContainer(request, options) {
        container = request;
        return cri.createContainer(request, options);
      },
    },
    recorded() {
      if (sandbox === undefined || container === undefined)
        throw new Error('no pod was started to be recorded');
      return { sandbox, container };
    },
  };
}

/** Has a kubelet start one pod and remembers what it asked the runtime for. */
export async function recordPod({ cri, dir }: BenchGround): Promise<RecordedPod> {
  const own = join(dir, recordedName);
  const staticPodPath = join(own, 'manifests');
  mkdirSync(staticPodPath, { recursive: true });
  const { runtime, recorded } = recordingRuntime(cri);
  const kubelet = await createKubelet({
    nodeName: 'bench',
    runtime,
    rootDir: join(own, 'root'),
    config: { staticPodPath, podLogsDir: join(own, 'logs'), ...nodeDns },
  });
  const failed = kubelet.start();
  try {
    showManifests(staticPodPath, [idlePod(recordedName)]);
    await Promise.race([
      untilRunning(cri, 1, () => kubelet.blockers().join('; ')),
      failed.then((error) => {
        throw error;
      }),
    ]);
  } finally {
    await kubelet.stop();
  }
  await removeAllPods(cri);
  const { sandbox, container } = recorded();
  const { name = '', uid = '' } = sandbox.config?.metadata ?? {};
  return { name, uid, sandbox, container };
}

/** The recorded pod under another name, with files of its own where it mounts some. */
export function replica(recorded: RecordedPod, name: string): RecordedPod {
  const renamed = renamer(recorded, name);
  const container = renamed(recorded.container);
  const mounts = recorded.container.config?.mounts ?? [];
  for (const [index, { hostPath = '' }] of (container.config?.mounts ?? []).entries()) {
    const original = mounts[index]?.hostPath ?? '';
    if (original === hostPath || original === '') continue;
    mkdirSync(dirname(hostPath), { recursive: true });
    cpSync(original, hostPath);
  }
  const sandbox = renamed(recorded.sandbox);
  const logDirectory = sandbox.config?.logDirectory ?? '';
  if (logDirectory !== '')
    mkdirSync(join(logDirectory, dirname(container.config?.logPath ?? '')), { recursive: true });
  return { name, uid: name, sandbox, container };
}

/** Puts the other pod's name and UID wherever a request has those of the recorded one. */
function renamer(recorded: RecordedPod, name: string): <T>(value: T) => T {
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replaceAll(recorded.uid, name).replaceAll(recorded.name, name);
    if (Array.isArray(value)) return value.map(rename);
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rename(member)]));
  };
  // Renaming keeps the shape of what it is given.
  return <T>(value: T) => rename(value) as T;
}

/** Starts a pod by the three calls that it takes at least. */
export async function startReplica(cri: CriRuntime, { sandbox, container }: RecordedPod): Promise<void> {
  const { podSandboxId } = await cri.runPodSandbox(sandbox);
  const { containerId } = await cri.createContainer({ ...container, podSandboxId });
  await cri.startContainer({ containerId });
}
