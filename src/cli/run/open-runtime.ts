/** Opens the container runtime that was chosen for a run. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { type Clock, systemErrorCode } from '../../async/index.js';
import { ContainerdContent, type CriRuntime, connectCri } from '../../cri/index.js';
import type { PullSource } from '../../runtime-manager/images/index.js';
import { containerdEvents, criEvents, type RuntimeEventSource } from '../../runtime-manager/pleg/index.js';
import {
  HostImage,
  ImportUnsupported,
  importImages,
  PrivateContainerd,
  withHostImage,
} from '../../runtimes/containerd/index.js';
import { ProcessRuntime } from '../../runtimes/process/index.js';
import { describeError } from '../../timeline/index.js';
import type { RuntimeChoice } from '../runtime-choice.js';
import { findNetworkPlugins } from '../runtime-choice-facts.js';
import { ownPodsOnly } from './own-pods.js';
import type { ClaimedRun } from './state.js';

export interface OpenRuntime {
  readonly cri: CriRuntime;
  readonly eventSources: readonly ((cri: CriRuntime) => RuntimeEventSource)[];
  /** Shows how far pulls are; absent where the runtime pulls nothing. */
  readonly pulls?: () => PullSource;
  /** Stops what was started for the run, after its pods are gone. */
  close(): Promise<void>;
}

export interface OpenRuntimeOptions {
  readonly claim: ClaimedRun;
  readonly clock: Clock;
  readonly onProblem: (message: string, error: unknown) => void;
}

const requestTimeoutMs = 120_000;
const validateTimeoutMs = 10_000;

export async function openRuntime(
  choice: Exclude<RuntimeChoice, { kind: 'impossible' }>,
  options: OpenRuntimeOptions,
): Promise<OpenRuntime> {
  switch (choice.kind) {
    case 'process':
      return openProcessRuntime(options);
    case 'endpoint':
      return openEndpoint(choice.endpoint, options);
    case 'containerd':
      return openPrivateContainerd(choice.podNetwork, options);
  }
}

async function openProcessRuntime({ claim, onProblem }: OpenRuntimeOptions): Promise<OpenRuntime> {
  const runtime = await ProcessRuntime.open({ stateDir: path.join(claim.rootDir, 'processes'), onProblem });
  return { cri: runtime, eventSources: [criEvents], close: () => runtime.close() };
}

async function openEndpoint(endpoint: string, { claim, clock }: OpenRuntimeOptions): Promise<OpenRuntime> {
  const client = await connect(endpoint);
  // Runs of other users or state directories may have the same name.
  const owner = `${claim.name}-${createHash('sha256').update(claim.dir).digest('hex').slice(0, 8)}`;
  const hostImage = new HostImage({
    dir: path.join(claim.rootDir, 'host-image'),
    clock,
    importArchive: (archive, signal) =>
      importImages(endpoint, archive, signal).catch((error: unknown) => {
        if (!(error instanceof ImportUnsupported)) throw error;
        throw new Error(
          `the container runtime at ${endpoint} cannot import images, only containerd can; ` +
            'use an image that it can pull, or run this with --runtime containerd or --runtime process',
          { cause: error },
        );
      }),
  });
  return {
    cri: withHostImage(ownPodsOnly(client, owner), hostImage),
    eventSources: [criEvents, () => containerdEvents(endpoint)],
    pulls: () => new ContainerdContent(endpoint),
    async close() {
      try {
        // Other programs use this runtime: leave no image behind.
        await hostImage.close();
        await hostImage.remove(client);
      } finally {
        client.close();
      }
    },
  };
}

async function openPrivateContainerd(
  podNetwork: boolean,
  { claim, clock, onProblem }: OpenRuntimeOptions,
): Promise<OpenRuntime> {
  const containerd = await PrivateContainerd.start({
    dataDir: path.join(claim.rootDir, 'containerd'),
    runtimeDir: claim.dir,
    cniBinDir: podNetwork ? await findNetworkPlugins() : undefined,
    clock,
    onProblem,
  }).catch((error: unknown) => {
    throw new StartFailure(
      `cannot start containerd: ${describeError(error)}\nuse --runtime process to run without it`,
      { cause: error },
    );
  });
  const client = await connect(containerd.endpoint);
  const hostImage = new HostImage({
    dir: path.join(claim.rootDir, 'host-image'),
    clock,
    importArchive: (archive, signal) => containerd.importImages(archive, signal),
  });
  return {
    cri: withHostImage(client, hostImage),
    eventSources: [criEvents, () => containerdEvents(containerd.endpoint)],
    pulls: () => new ContainerdContent(containerd.endpoint),
    async close() {
      await hostImage.close();
      client.close();
      await containerd.stop();
    },
  };
}

/** Explains errors of the socket in words. */
export function connectProblem(endpoint: string, error: unknown): string {
  const socket = endpoint.replace(/^unix:\/\//, '');
  switch (systemErrorCode(error)) {
    case 'ENOENT':
      return `there is no ${socket}`;
    case 'ECONNREFUSED':
      return `nothing listens at ${socket}`;
    case 'EACCES':
      return `this user cannot open ${socket}`;
    default:
      return describeError(error);
  }
}

async function connect(endpoint: string) {
  const fail = (error: unknown): never => {
    throw new StartFailure(
      `cannot use the container runtime at ${endpoint}: ${connectProblem(endpoint, error)}; start it, or remove --container-runtime-endpoint to let nodelet choose one`,
      { cause: error },
    );
  };
  let client: ReturnType<typeof connectCri>;
  try {
    client = connectCri({ endpoint, requestTimeoutMs, bare: true });
  } catch (error) {
    return fail(error);
  }
  try {
    await client.validate({ timeoutMs: validateTimeoutMs });
    return client;
  } catch (error) {
    client.close();
    return fail(error);
  }
}
