/** Gives the directories of plugins the SELinux label of containers' files: plugins in containers put their sockets there. */
import { type Clock, errorText } from '../../async/index.js';
import { CommandLine, endText, plainEnvironment, runProgram } from '../../programs/index.js';
import type { LabelFile } from '../options.js';
import type { KubeletSettings } from '../settings.js';

const containerFileLabel = 'system_u:object_r:container_file_t:s0';
const limits = { limitMs: 10_000, outputLimitBytes: 16 * 1024 } as const;

type LabelSettings = Pick<KubeletSettings, 'timeline' | 'host' | 'isOwnMachine' | 'labelFile' | 'outside'>;

/** Never rejects: a directory that keeps its label serves plugins outside of containers, and the timeline says so. */
export async function labelPluginDirectories(
  { timeline, host, isOwnMachine, labelFile, outside }: LabelSettings,
  directories: readonly string[],
): Promise<void> {
  const byProgram = isOwnMachine ? labelByProgram(outside.clock) : undefined;
  const given = labelFile ?? byProgram;
  if (!host.isSelinuxEnabled || given === undefined) return;
  const label = outside.port('labels', () => given);
  for (const directory of directories) {
    try {
      await label(directory, containerFileLabel);
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'plugin.directory',
        level: 'warn',
        message: `${directory} does not get the SELinux label ${containerFileLabel}; plugins in containers may not reach it: ${errorText(error)}`,
        error,
      });
    }
  }
}

/** Node has no call for labels. */
function labelByProgram(clock: Clock): LabelFile {
  return async (path, label) => {
    const command = labelCommand(path, label);
    const end = await runProgram(command, { clock, env: plainEnvironment(), ...limits });
    if (end.kind !== 'exited') throw new Error(`cannot run ${command.program}: ${endText(end)}`);
    if (end.exitCode !== 0) throw new Error(end.stderr.trim() || endText(end));
  };
}

export function labelCommand(path: string, label: string): CommandLine {
  return CommandLine.of('chcon').operands(label, path);
}
