/** Reads the ids that the administrator of the machine set aside for pods, as subordinate ids of the user `kubelet`. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../async/index.js';
import {
  CommandLine,
  endText,
  type ProgramEnvironment,
  plainEnvironment,
  runProgram,
} from '../../programs/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type IdRange, parseSubordinateIds } from './id-pool.js';

export interface SubordinateIdsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly signal?: AbortSignal | undefined;
  /** @default the machine's file of users */
  readonly usersFile?: string;
  /** @default that of system programs */
  readonly env?: ProgramEnvironment;
}

const limitMs = 10_000;
const outputLimitBytes = 64 * 1024;

/** Undefined where there is no such user, or no program that knows of its ids. Fails when the ids are not usable. */
export async function readSubordinateIds(options: SubordinateIdsOptions): Promise<IdRange | undefined> {
  const { usersFile = '/etc/passwd', timeline } = options;
  if (!hasUser(await readFile(usersFile, 'utf8'))) return undefined;
  const ofUsers = await run(options, CommandLine.of('getsubids').literal('kubelet'), 'ids');
  if (ofUsers === undefined) {
    timeline.record({
      kind: 'notice',
      what: 'node.userns',
      message: 'Pods with user namespaces may have all ids but those of the machine',
      because: 'there is a user kubelet, but no program getsubids that tells its subordinate ids',
    });
    return undefined;
  }
  const ofGroups = await run(options, CommandLine.of('getsubids').literal('-g', 'kubelet'), 'gids');
  if (ofUsers !== ofGroups) throw new Error('mismatched subuids and subgids for user "kubelet"');
  return parseSubordinateIds(ofUsers);
}

function hasUser(users: string): boolean {
  return users.split('\n').some((line) => line.startsWith('kubelet:'));
}

/** Undefined when there is no such program. */
async function run(
  { clock, signal, env = plainEnvironment() }: SubordinateIdsOptions,
  line: CommandLine,
  kind: 'ids' | 'gids',
): Promise<string | undefined> {
  const end = await runProgram(line, { clock, limitMs, signal, env, outputLimitBytes });
  if (end.kind === 'exited' && end.exitCode === 0) return end.stdout;
  if (end.kind === 'not-started' && end.code === 'ENOENT') return undefined;
  throw new Error(`error retrieving additional ${kind} for user "kubelet": getsubids: ${endText(end)}`);
}
