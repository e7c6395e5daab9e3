/** Describes the flags of `nodelet agent` for completion. Its help comes from `usage` of the configuration. */
import { flagSpecs, type KubeletFlag } from '../config/index.js';
import type { CommandSpec } from './client/command.js';

/** Without the flags that have no effect, which only old command lines use. */
const flags: Readonly<Record<string, KubeletFlag>> = Object.fromEntries(
  flagSpecs.filter(({ target }) => target.to !== 'nowhere').map((flag) => [flag.name, flag]),
);

export const agentSpec: CommandSpec = {
  name: 'agent',
  about: 'Runs the pods of one Kubernetes node.',
  synopsis: ['[flags]'],
  flags,
  examples: [],
};
