/** Which chains and rules a node has in its packet filter for others to rely on, as commands to run and answers to read. */

export type AddressFamily = 'ipv4' | 'ipv6';
export const addressFamilies: readonly AddressFamily[] = ['ipv4', 'ipv6'];

export type PacketTable = 'mangle' | 'nat' | 'filter';

export interface PacketCommand {
  readonly command: 'iptables' | 'ip6tables';
  readonly arguments: readonly string[];
}

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Something that must be there. */
export type PacketStep =
  | { readonly kind: 'chain'; readonly table: PacketTable; readonly chain: string }
  | {
      readonly kind: 'rule';
      readonly table: PacketTable;
      readonly chain: string;
      /** Where it is put when it is missing; one that is there is left where it is. */
      readonly position: 'first' | 'last';
      readonly rule: readonly string[];
    };

/** Empty; network programs look for it to learn which flavour of iptables this machine uses. */
const hintChain = 'KUBE-IPTABLES-HINT';
const firewallChain = 'KUBE-FIREWALL';
/** Empty; gone when somebody flushed the tables, and the rules with it. */
const canaryChain = 'KUBE-KUBELET-CANARY';

/** The first is looked at; a flush takes the tables one after the other. */
export const canaryTables: readonly [PacketTable, ...PacketTable[]] = ['mangle', 'nat', 'filter'];

/** How long a command waits for its turn at the tables. */
const lockWaitSeconds = 5;

export function programOf(family: AddressFamily): PacketCommand['command'] {
  return family === 'ipv4' ? 'iptables' : 'ip6tables';
}

/** What others rely on, in the order in which it is made. */
export function helperSteps(family: AddressFamily): readonly PacketStep[] {
  const hint: PacketStep = { kind: 'chain', table: 'mangle', chain: hintChain };
  // Only IPv4 has routes to a whole network of loopback addresses, which a neighbour could send to.
  if (family === 'ipv6') return [hint];
  const jump = ['-j', firewallChain];
  return [
    hint,
    { kind: 'chain', table: 'filter', chain: firewallChain },
    { kind: 'rule', table: 'filter', chain: 'OUTPUT', position: 'first', rule: jump },
    { kind: 'rule', table: 'filter', chain: 'INPUT', position: 'first', rule: jump },
    {
      kind: 'rule',
      table: 'filter',
      chain: firewallChain,
      position: 'last',
      rule: [
        ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
        ...['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'],
        ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
      ],
    },
  ];
}

export function canarySteps(): readonly PacketStep[] {
  return canaryTables.map((table) => ({ kind: 'chain', table, chain: canaryChain }));
}

/** Fails where the machine has no support for the family. */
export function supportCommand(family: AddressFamily): PacketCommand {
  return command(family, '-S', 'nat', 'POSTROUTING');
}

export function canaryCommand(family: AddressFamily, table: PacketTable): PacketCommand {
  return command(family, '-S', table, canaryChain);
}

/** Tells whether the step's rule is there already; chains need no such question, as making one twice does no harm. */
export function checkCommand(family: AddressFamily, step: PacketStep): PacketCommand | undefined {
  if (step.kind === 'chain') return undefined;
  return command(family, '-C', step.table, step.chain, step.rule);
}

export function makeCommand(family: AddressFamily, step: PacketStep): PacketCommand {
  if (step.kind === 'chain') return command(family, '-N', step.table, step.chain);
  const operation = step.position === 'first' ? '-I' : '-A';
  return command(family, operation, step.table, step.chain, step.rule);
}

function command(
  family: AddressFamily,
  operation: '-S' | '-N' | '-C' | '-I' | '-A',
  table: PacketTable,
  chain: string,
  rule: readonly string[] = [],
): PacketCommand {
  const wait = ['-w', String(lockWaitSeconds)];
  return { command: programOf(family), arguments: [...wait, operation, chain, '-t', table, ...rule] };
}

/** The status for "not there", and for a chain that is there already. */
const otherwise = 1;
/** The status of a command that did not get its turn, which says nothing about what it was asked. */
const busy = 4;

export type Presence = 'there' | 'missing' | 'unknown';

export function chainPresence({ code }: CommandOutcome): Presence {
  if (code === 0) return 'there';
  return code === busy ? 'unknown' : 'missing';
}

/** Undefined when the chain is there now. */
export function chainProblem(made: PacketCommand, outcome: CommandOutcome): string | undefined {
  return outcome.code === 0 || outcome.code === otherwise ? undefined : failureText(made, outcome);
}

export function rulePresence({ code }: CommandOutcome): Presence {
  if (code === 0) return 'there';
  return code === otherwise ? 'missing' : 'unknown';
}

export function failureText(failed: PacketCommand, { code, stdout, stderr }: CommandOutcome): string {
  const said = `${stderr}\n${stdout}`.trim().split('\n')[0] ?? '';
  return `${commandText(failed)} ended with ${code}${said === '' ? '' : `: ${said}`}`;
}

export function commandText({ command: program, arguments: words }: PacketCommand): string {
  return [program, ...words.map((word) => (word.includes(' ') ? `"${word}"` : word))].join(' ');
}
