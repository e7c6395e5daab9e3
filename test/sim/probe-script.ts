/** What scenarios of probes share: commands with scripted answers, a network in which nothing answers, and short words for pods. */

import { HttpGetError } from '../../src/http-get/index.js';
import type { Container, Probe } from '../../src/kube/index.js';
import type { ProbeNetwork } from '../../src/probes/index.js';
import { Machine } from './machine.js';
import { minute, type Node, type NodeOptions, startNode } from './node.js';
import type { PodShape } from './pods.js';

/** Scenarios replace what they need. */
export const silentNetwork: ProbeNetwork = {
  http: () => Promise.reject(new HttpGetError('no HTTP in this scenario')),
  tcp: () => Promise.reject(new Error('no TCP in this scenario')),
  grpc: () => Promise.resolve({ kind: 'no-connection' }),
};

/** What commands answer, by the first word; a command without an entry succeeds. */
type Answer = { exitCode?: number; stdout?: string; durationMs?: number };
export type Answers = Record<string, Answer>;

export interface Script {
  readonly answers: Answers;
  /** Every command that was run. */
  readonly commands: string[];
  readonly machine: Machine;
}

export function scripted(answers: Answers = {}, answer?: () => Answer): Script {
  const commands: string[] = [];
  const machine = new Machine({
    images: 'any',
    exec: ({ command }) => {
      commands.push(command.join(' '));
      return answer?.() ?? answers[command[0] ?? ''];
    },
  });
  return { answers, commands, machine };
}

export const exec = (command: string, more: Partial<Probe> = {}): Probe => ({
  exec: { command: [command] },
  periodSeconds: 1,
  ...more,
});

export const app = (probes: Partial<Container>, more: Partial<Container> = {}): Container => ({
  name: 'app',
  image: 'app:1',
  ...probes,
  ...more,
});

export async function nodeWith(script: Script, options: NodeOptions = {}): Promise<Node> {
  const node = await startNode({ machine: script.machine, ...options });
  // Probes that begin with the agent are spread over their period; these begin later.
  await node.advance(2 * minute);
  return node;
}

export const shape = (containers: readonly Container[], more: PodShape = {}): PodShape => ({
  containers,
  ...more,
});
export const unhealthy = (node: Node, name = 'a'): string[] =>
  node.events(name, 'Unhealthy').map(({ message }) => message);
export const count = (script: Script, command: string): number =>
  script.commands.filter((one) => one === command).length;
export const runningId = (script: Script, name = 'app'): string | undefined =>
  script.machine.running('a').find((one) => one.name === name)?.id;
