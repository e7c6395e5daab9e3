/** `createAgent`: the node's agent for a program that owns its process. The code that it runs is loaded by `run`. */
import type { LoadedConfiguration } from '../config/index.js';
import type { Kubelet } from '../kubelet/index.js';
import type { StatsProvider } from '../resources/stats/index.js';
import type { ClusterSettings, OpenCluster } from './cluster.js';
import { descriptorSink, type LogSink } from './log-writer.js';

export interface AgentOptions {
  /** The flags, the configuration file and its drop-ins, as `readConfiguration` gives them. */
  readonly configuration: LoadedConfiguration;
  /**
   * Where systemd's variables are looked up: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID and DBUS_SYSTEM_BUS_ADDRESS.
   * @default process.env
   */
  readonly environment?: NodeJS.ProcessEnv;
  /**
   * Where the lines of the log go.
   * @default standard error of this process
   */
  readonly logSink?: LogSink;
  /**
   * Where all lines but errors go, if the configuration splits the log in two streams.
   * @default `logSink` if that is given, else standard output of this process
   */
  readonly infoSink?: LogSink;
  /**
   * The API that the node belongs to, if it is in this process.
   * @default the one that the configuration's kubeconfig names, if any
   */
  readonly openCluster?: ((node: ClusterSettings) => Promise<OpenCluster>) | undefined;
}

/** A kubelet that runs, with the statistics that it serves. */
export type RunningKubelet = Kubelet & { readonly stats: StatsProvider };

export interface Agent {
  /**
   * Runs the node until the signal is aborted, then stops everything but the containers and resolves; nothing of the
   * agent is left then. The log tells the signal's reason if it is a string. Rejects with a StartFailure, whose message
   * says what to do, when the agent cannot start or cannot go on. An agent runs once.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when every port listens and the kubelet has started; rejects when `run` ends before that. */
  ready(): Promise<RunningKubelet>;
}

/** Starts nothing yet: `run` does. */
export function createAgent({
  configuration,
  environment = process.env,
  logSink: given,
  infoSink = given ?? descriptorSink(process.stdout.fd),
  openCluster,
}: AgentOptions): Agent {
  const logSink = given ?? descriptorSink(process.stderr.fd);
  let resolveReady: (kubelet: RunningKubelet) => void = () => {};
  let rejectReady: (error: unknown) => void = () => {};
  const ready = new Promise<RunningKubelet>((resolve, reject) => {
    resolveReady = resolve;
    rejectReady = reject;
  });
  // Whoever runs the agent hears of the failure there.
  ready.catch(() => undefined);
  let hasRun = false;
  return {
    async run(signal) {
      if (hasRun) throw new Error('an agent runs once; create another one');
      hasRun = true;
      try {
        const { runAgent } = await import('./run-agent.js');
        await runAgent({ configuration, environment, logSink, infoSink, openCluster }, signal, resolveReady);
        rejectReady(new Error('the agent was stopped before it was ready'));
      } catch (error) {
        rejectReady(error);
        throw error;
      }
    },
    ready: () => ready,
  };
}
