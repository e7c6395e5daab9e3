/** The commands there are, with how to load each. */
import type { CommandSpec } from './client/command.js';

/** In the order of the overview. */
export const commandNames = [
  'run',
  'ps',
  'get',
  'logs',
  'exec',
  'port-forward',
  'stop',
  'explain',
  'agent',
  'cri',
  'completion',
  'version',
  'help',
] as const;

interface ClientCommand {
  readonly spec: CommandSpec;
  readonly run: (argv: readonly string[]) => Promise<number>;
}

/** Loads a command that talks to a run, and nothing that it does not need. */
export async function loadClientCommand(name: string): Promise<ClientCommand | undefined> {
  switch (name) {
    case 'ps': {
      const { psSpec, runPs } = await import('./ps.js');
      return { spec: psSpec, run: runPs };
    }
    case 'get': {
      const { getSpec, runGet } = await import('./get.js');
      return { spec: getSpec, run: runGet };
    }
    case 'logs': {
      const { logsSpec, runLogs } = await import('./logs.js');
      return { spec: logsSpec, run: runLogs };
    }
    case 'exec': {
      const { execSpec, runExec } = await import('./exec.js');
      return { spec: execSpec, run: runExec };
    }
    case 'port-forward': {
      const { portForwardSpec, runPortForward } = await import('./port-forward.js');
      return { spec: portForwardSpec, run: runPortForward };
    }
    case 'stop': {
      const { stopSpec, runStop } = await import('./stop.js');
      return { spec: stopSpec, run: runStop };
    }
    case 'explain': {
      const { explainSpec, runExplain } = await import('./explain.js');
      return { spec: explainSpec, run: runExplain };
    }
    default:
      return undefined;
  }
}

/** The description of a command whose flags can be completed. */
export async function loadCommandSpec(name: string): Promise<CommandSpec | undefined> {
  switch (name) {
    case 'run':
      return (await import('./run/options.js')).runSpec;
    case 'cri':
      return (await import('./cri-serve.js')).criServeSpec;
    default:
      return (await loadClientCommand(name))?.spec;
  }
}
