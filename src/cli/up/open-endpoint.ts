/** Opens the container runtime of a bare node: a socket of the machine, or a runtime that nodelet starts itself. */
import path from 'node:path';
import { StartFailure } from '../../agent/index.js';
import { type Clock, errorText } from '../../async/index.js';
import { servePrivately } from '../cri-serve.js';
import { chooseRuntime, type RuntimeChoice } from '../runtime-choice.js';
import { findNetworkPlugins, readRuntimeFacts } from '../runtime-choice-facts.js';
import type { UpOptions } from './options.js';

export interface RuntimeEndpoint {
  readonly endpoint: string;
  /** What runs the pods, and why, for people. */
  readonly line: string;
  /** Whether pods have addresses of their own; if not, they share the host's. */
  readonly podNetwork: boolean;
  /** Whether the runtime puts containers into cgroups. */
  readonly usesCgroups: boolean;
  close(): Promise<void>;
}

export async function openEndpoint(
  { runtime, endpoint, stateDir }: Pick<UpOptions, 'runtime' | 'endpoint' | 'stateDir'>,
  clock: Clock,
  onProblem: (message: string, error: unknown) => void,
): Promise<RuntimeEndpoint> {
  const choice = chooseRuntime(await readRuntimeFacts(runtime, endpoint));
  return openChosen(choice, stateDir, clock, onProblem);
}

/** The same for a runtime that was chosen before. */
export async function openChosen(
  choice: RuntimeChoice,
  stateDir: string,
  clock: Clock,
  onProblem: (message: string, error: unknown) => void,
): Promise<RuntimeEndpoint> {
  switch (choice.kind) {
    case 'impossible':
      throw new StartFailure(choice.message);
    case 'endpoint':
      return { ...choice, podNetwork: true, usesCgroups: true, close: () => Promise.resolve() };
    case 'containerd': {
      const { PrivateContainerd } = await import('../../runtimes/containerd/index.js');
      const { line, podNetwork } = choice;
      const containerd = await PrivateContainerd.start({
        dataDir: path.join(stateDir, 'containerd'),
        runtimeDir: path.join(stateDir, 'run'),
        cniBinDir: podNetwork ? await findNetworkPlugins() : undefined,
        clock,
        onProblem,
      }).catch((error: unknown) => {
        throw new StartFailure(
          `cannot start containerd: ${errorText(error)}\nuse --runtime process to run without it`,
          { cause: error },
        );
      });
      return {
        endpoint: containerd.endpoint,
        line,
        podNetwork,
        usesCgroups: true,
        // The next "nodelet up" takes the pods over.
        close: () => containerd.stop({ leavesPods: true }),
      };
    }
    case 'process': {
      const { ProcessRuntime } = await import('../../runtimes/process/index.js');
      const cri = await ProcessRuntime.open({ stateDir: path.join(stateDir, 'processes'), onProblem });
      const server = await servePrivately(cri, path.join(stateDir, 'run', 'cri.sock'));
      return {
        endpoint: server.endpoint,
        line: choice.line,
        podNetwork: false,
        usesCgroups: false,
        async close() {
          await server.close();
          await cri.close();
        },
      };
    }
  }
}
