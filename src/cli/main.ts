/** The command line's entry: finds the command and loads only what it needs. */
import { setFlagsFromString } from 'node:v8';
import { keepInspectorShut } from './inspector.js';
import { v8Flags } from './v8-flags.js';

const overview = `nodelet runs the pods of one Kubernetes node.

Usage:
  nodelet run FILE …        run the pods of manifests on this machine; needs no cluster and no setup
  nodelet agent [flags]     run as the agent of a node; "agent" may be left out before a flag
  nodelet ps                list the containers of all runs
  nodelet get pods          list pods, with the flags and output of kubectl get
  nodelet logs POD          print the logs of a pod
  nodelet exec POD -- CMD   run a command in a container
  nodelet port-forward POD  forward local ports to a pod
  nodelet stop [POD]        stop one pod, or the whole run
  nodelet explain POD       show what happened to a pod, why, and what it waits for
  nodelet cri serve         serve a built-in runtime on a CRI socket
  nodelet completion SHELL  print the completion script for bash, zsh or fish
  nodelet version           print the version of nodelet; nodelet --version prints that of Kubernetes
  nodelet help [COMMAND]    print this help, or the help of a command

The agent takes the reference kubelet's flags and configuration file:
  nodelet agent --help

Examples:
  # run the pods of a file on this machine until Ctrl-C
  nodelet run web.yaml
  # run as a node of a cluster
  nodelet agent --kubeconfig /etc/kubernetes/kubelet.conf --config /var/lib/kubelet/config.yaml
  # run every pod manifest of a folder, without a cluster, on the containerd of this machine
  nodelet agent --pod-manifest-path /etc/kubernetes/manifests
`;

function setV8Flags(scope: 'everyCommand' | 'agent'): void {
  for (const flag of v8Flags(process.versions.node, scope)) setFlagsFromString(flag);
}

async function agent(argv: readonly string[]): Promise<number> {
  setV8Flags('agent');
  const { runAgent } = await import('./agent.js');
  return runAgent(argv);
}

async function main(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  switch (command) {
    case undefined:
      process.stdout.write(overview);
      return 0;
    case '--help':
    case '-h':
    case 'help':
      if (rest[0] !== undefined && rest[0] !== 'help') return main([rest[0], '--help']);
      process.stdout.write(overview);
      return 0;
    case 'version': {
      const { version } = await import('../agent/version.js');
      process.stdout.write(`nodelet ${version}\n`);
      return 0;
    }
    case 'completion': {
      const { runCompletion } = await import('./completion.js');
      return runCompletion(rest);
    }
    case 'run': {
      const { runRun } = await import('./run/index.js');
      return runRun(rest);
    }
    case 'agent':
      return agent(rest);
    case 'cri': {
      const { runCri } = await import('./cri-serve.js');
      return runCri(rest);
    }
    default: {
      if (command.startsWith('-')) return agent(argv);
      const { commandNames, loadClientCommand } = await import('./commands.js');
      const client = await loadClientCommand(command);
      if (client !== undefined) return client.run(rest);
      const { nearestName } = await import('../config/nearest-name.js');
      const near = nearestName(command, commandNames);
      process.stderr.write(
        `nodelet: unknown command ${JSON.stringify(command)}${near === undefined ? '' : `; did you mean ${near}?`}\n` +
          `Run 'nodelet help' to see the commands.\n`,
      );
      return 1;
    }
  }
}

await keepInspectorShut();
setV8Flags('everyCommand');
process.exitCode = await main(process.argv.slice(2));
