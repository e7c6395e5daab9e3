/** `nodelet agent`: runs the node agent with the reference kubelet's flags. */
import {
  createAgent,
  ignoreOutputErrors,
  kubernetesVersion,
  readConfiguration,
  StartFailure,
} from '../agent/index.js';
import { errorText } from '../async/index.js';
import { ConfigurationError, type LoadedConfiguration, usage } from '../config/index.js';

export async function runAgent(argv: readonly string[]): Promise<number> {
  try {
    const loaded = await readConfiguration({ argv });
    switch (loaded.kind) {
      case 'help':
        process.stdout.write(usage({ command: 'nodelet agent' }));
        return 0;
      case 'version':
        process.stdout.write(
          loaded.raw
            ? `${JSON.stringify({ gitVersion: kubernetesVersion })}\n`
            : `Kubernetes ${kubernetesVersion}\n`,
        );
        return 0;
      case 'run':
        await runUntilSignal(loaded);
        return 0;
    }
  } catch (error) {
    process.stderr.write(`nodelet agent: ${errorText(error)}\n`);
    if (error instanceof ConfigurationError) {
      if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
    } else if (!(error instanceof StartFailure) && error instanceof Error) {
      process.stderr.write(`${error.stack ?? ''}\n`);
    }
    return 1;
  }
}

/** The first signal stops the agent in order, the second one exits at once. */
async function runUntilSignal(configuration: LoadedConfiguration): Promise<void> {
  ignoreOutputErrors();
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(`received ${signal}`);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    await createAgent({ configuration }).run(stop.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
