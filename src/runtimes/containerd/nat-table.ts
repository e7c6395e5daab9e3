/** The machine's table of address translations, changed in one step. */
import { CommandLine } from '../../programs/index.js';
import { runCommand } from './command.js';

/** `choose` sees the rules as they are saved, and tells the commands. */
export async function changeNatRules(choose: (rules: readonly string[]) => readonly string[]): Promise<void> {
  const { stdout } = await runCommand(CommandLine.of('iptables-save').literal('--table', 'nat'));
  const commands = choose(stdout.split('\n'));
  if (commands.length === 0) return;
  const input = ['*nat', ...commands, 'COMMIT', ''].join('\n');
  await runCommand(CommandLine.of('iptables-restore').literal('--noflush', '--wait', '10'), { input });
}
