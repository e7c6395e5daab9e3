/** The command line's entry: finds the command and loads only what it needs. */
import { setFlagsFromString } from 'node:v8';

const overview = `nodelet runs the pods of one Kubernetes node.

Usage:
  nodelet agent [flags]     run as the node's agent; a first argument that is a flag means this, too
  nodelet explain POD       show what happened to a pod, why, and what it waits for
  nodelet version           print the version
  nodelet help              print this

The agent takes the reference kubelet's flags and configuration file:
  nodelet agent --help

Example: run every pod manifest of a folder on the containerd of this machine
  nodelet agent --pod-manifest-path /etc/kubernetes/manifests
`;

/** An agent lives long beside the pods of a node, so memory counts for more than the last bit of speed. */
async function agent(argv: readonly string[]): Promise<number> {
  setFlagsFromString('--semi-space-growth-factor=1');
  const { runAgent } = await import('./agent.js');
  return runAgent(argv);
}

async function main(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  switch (command) {
    case undefined:
    case 'help':
      process.stdout.write(overview);
      return 0;
    case 'version': {
      const { version } = await import('./version.js');
      process.stdout.write(`nodelet ${version}\n`);
      return 0;
    }
    case 'explain': {
      const { runExplain } = await import('./explain.js');
      return runExplain(rest);
    }
    case 'agent':
      return agent(rest);
    default: {
      if (command.startsWith('-')) return agent(argv);
      process.stderr.write(
        `nodelet: unknown command ${JSON.stringify(command)}\nRun 'nodelet help' to see the commands.\n`,
      );
      return 1;
    }
  }
}

process.exitCode = await main(process.argv.slice(2));
