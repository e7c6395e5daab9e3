/** Describes the flags of `nodelet agent` for completion. Its help comes from `usage` of the configuration. */
import { flagSpecs, type KubeletFlag } from '../config/index.js';
import type { CommandSpec } from './client/command.js';

const flags: Readonly<Record<string, KubeletFlag>> = Object.fromEntries(
  flagSpecs.map((flag) => [flag.name, flag]),
);

export const agentSpec: CommandSpec = {
  name: 'agent',
  about: 'Runs the pods of one Kubernetes node.',
  synopsis: ['[flags]'],
  flags,
  examples: [],
};
