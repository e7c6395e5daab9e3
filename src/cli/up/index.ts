/** `nodelet up`: a Kubernetes of one node in one process. */
import { readFile } from 'node:fs/promises';
import { chooseNodeName, StartFailure } from '../../agent/index.js';
import { errorText, systemClock, systemErrorCode } from '../../async/index.js';
import type { BareNodeOptions } from '../../bare-node/index.js';
import { ConfigurationError } from '../../config/index.js';
import { UsageError } from '../client/usage-error.js';
import { agentConfiguration, clusterDomain } from './agent-configuration.js';
import { openEndpoint } from './open-endpoint.js';
import { parseUpArguments, type UpOptions, upUsage } from './options.js';
import { writeOwnFile } from './own-file.js';

export async function runUp(argv: readonly string[]): Promise<number> {
  try {
    const options = parseUpArguments(argv);
    if (options === 'help') {
      process.stdout.write(upUsage);
      return 0;
    }
    await up(options);
    return 0;
  } catch (error) {
    process.stderr.write(`nodelet up: ${errorText(error)}\n`);
    if (error instanceof UsageError) {
      process.stderr.write("Run 'nodelet up --help' for usage.\n");
      return 2;
    }
    if (error instanceof ConfigurationError && error.hint !== undefined)
      process.stderr.write(`${error.hint}\n`);
    else if (
      !(error instanceof StartFailure) &&
      !(error instanceof ConfigurationError) &&
      error instanceof Error
    )
      process.stderr.write(`${error.stack ?? ''}\n`);
    return 1;
  }
}

async function up(options: UpOptions): Promise<void> {
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(`received ${signal}`);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const runtime = await openEndpoint(options, systemClock, (message, error) =>
      process.stderr.write(`${message}: ${errorText(error)}\n`),
    );
    try {
      if (!options.quiet) process.stderr.write(`${runtime.line}\n`);
      const configuration = await agentConfiguration(options, runtime);
      const { runBareNode } = await import('../../bare-node/index.js');
      await runBareNode(
        {
          configuration,
          nodeName: chooseNodeName(configuration.flags.hostnameOverride),
          stateDir: options.stateDir,
          address: '127.0.0.1',
          port: options.port,
          serviceCidr: options.serviceCidr,
          clusterDomain,
          podNetwork: runtime.podNetwork,
          onServing: (facts) => announce(options, facts),
          manifests: followed(options),
          mergeKubeconfig:
            options.mergeInto === undefined ? undefined : (ours) => merge(options.mergeInto ?? '', ours),
        },
        stop.signal,
      );
    } finally {
      await runtime.close();
    }
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

function followed({ manifests, quiet }: UpOptions): BareNodeOptions['manifests'] {
  if (manifests.length === 0) return undefined;
  return {
    inputs: manifests,
    onNews({ errors, notes }) {
      for (const error of errors) process.stderr.write(`error: ${error}\n`);
      if (!quiet) for (const note of notes) process.stderr.write(`${note}\n`);
    },
  };
}

function announce(
  { quiet, mergeInto }: UpOptions,
  { server, kubeconfigFile }: { server: string; kubeconfigFile: string },
): void {
  if (quiet) return;
  const use =
    mergeInto === undefined ? `export KUBECONFIG=${kubeconfigFile}` : 'kubectl config use-context nodelet';
  process.stderr.write(`the API of this node is at ${server}; to use it:\n  ${use}\n  kubectl get nodes\n`);
}

async function merge(file: string, merged: (existing: string) => string): Promise<void> {
  try {
    const existing = await readFile(file, 'utf8').catch((error: unknown) => {
      if (systemErrorCode(error) === 'ENOENT') return '';
      throw error;
    });
    await writeOwnFile(file, merged(existing));
  } catch (error) {
    throw new StartFailure(`--merge-kubeconfig: ${file}: ${errorText(error)}`, { cause: error });
  }
}
