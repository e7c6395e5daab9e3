/** Changes the machine's NAT table in one step. */
import { CommandLine } from '../../programs/index.js';
import { runCommand } from './command.js';

/** `choose` gets the saved rules and returns the commands. */
export async function changeNatRules(choose: (rules: readonly string[]) => readonly string[]): Promise<void> {
  const { stdout } = await runCommand(CommandLine.of('iptables-save').literal('--table', 'nat'));
  const commands = choose(stdout.split('\n'));
  if (commands.length === 0) return;
  const input = ['*nat', ...commands, 'COMMIT', ''].join('\n');
  await runCommand(CommandLine.of('iptables-restore').literal('--noflush', '--wait', '10'), { input });
}
