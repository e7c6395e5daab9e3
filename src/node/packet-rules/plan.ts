/** Which chains and rules a node has in its packet filter for others to rely on, as commands to run and answers to read. */
import { CommandLine } from '../../programs/index.js';

export type AddressFamily = 'ipv4' | 'ipv6';
export const addressFamilies: readonly AddressFamily[] = ['ipv4', 'ipv6'];

export type PacketTable = 'mangle' | 'nat' | 'filter';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Something that must be there. */
export type PacketStep =
  | { readonly kind: 'chain'; readonly table: PacketTable; readonly chain: PacketChain }
  | {
      readonly kind: 'rule';
      readonly table: PacketTable;
      readonly chain: PacketChain;
      /** Where it is put when it is missing; one that is there is left where it is. */
      readonly position: 'first' | 'last';
      readonly rule: readonly RuleWord[];
    };

/** Empty; network programs look for it to learn which flavour of iptables this machine uses. */
const hintChain = 'KUBE-IPTABLES-HINT';
const firewallChain = 'KUBE-FIREWALL';
/** Empty; gone when somebody flushed the tables, and the rules with it. */
const canaryChain = 'KUBE-KUBELET-CANARY';

export type PacketChain =
  | typeof hintChain
  | typeof firewallChain
  | typeof canaryChain
  | 'INPUT'
  | 'OUTPUT'
  | 'POSTROUTING';

const jumpToFirewall = ['-j', firewallChain] as const;
const blockLocalnet = [
  ...(['-m', 'comment', '--comment', 'block incoming localnet connections'] as const),
  ...(['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'] as const),
  ...(['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'] as const),
] as const;

/** Rules have no word that is not written above. */
type RuleWord = (typeof jumpToFirewall | typeof blockLocalnet)[number];

/** The first is looked at; a flush takes the tables one after the other. */
export const canaryTables: readonly [PacketTable, ...PacketTable[]] = ['mangle', 'nat', 'filter'];

/** How long a command waits for its turn at the tables. */
const lockWaitSeconds = '5';

export function programOf(family: AddressFamily): 'iptables' | 'ip6tables' {
  return family === 'ipv4' ? 'iptables' : 'ip6tables';
}

/** What others rely on, in the order in which it is made. */
export function helperSteps(family: AddressFamily): readonly PacketStep[] {
  const hint: PacketStep = { kind: 'chain', table: 'mangle', chain: hintChain };
  // Only IPv4 has routes to a whole network of loopback addresses, which a neighbour could send to.
  if (family === 'ipv6') return [hint];
  return [
    hint,
    { kind: 'chain', table: 'filter', chain: firewallChain },
    { kind: 'rule', table: 'filter', chain: 'OUTPUT', position: 'first', rule: jumpToFirewall },
    { kind: 'rule', table: 'filter', chain: 'INPUT', position: 'first', rule: jumpToFirewall },
    {
      kind: 'rule',
      table: 'filter',
      chain: firewallChain,
      position: 'last',
      rule: blockLocalnet,
    },
  ];
}

export function canarySteps(): readonly PacketStep[] {
  return canaryTables.map((table) => ({ kind: 'chain', table, chain: canaryChain }));
}

/** Fails where the machine has no support for the family. */
export function supportCommand(family: AddressFamily): CommandLine {
  return command(family, '-S', 'nat', 'POSTROUTING');
}

export function canaryCommand(family: AddressFamily, table: PacketTable): CommandLine {
  return command(family, '-S', table, canaryChain);
}

/** Tells whether the step's rule is there already; chains need no such question, as making one twice does no harm. */
export function checkCommand(family: AddressFamily, step: PacketStep): CommandLine | undefined {
  if (step.kind === 'chain') return undefined;
  return command(family, '-C', step.table, step.chain, step.rule);
}

export function makeCommand(family: AddressFamily, step: PacketStep): CommandLine {
  if (step.kind === 'chain') return command(family, '-N', step.table, step.chain);
  const operation = step.position === 'first' ? '-I' : '-A';
  return command(family, operation, step.table, step.chain, step.rule);
}

function command(
  family: AddressFamily,
  operation: '-S' | '-N' | '-C' | '-I' | '-A',
  table: PacketTable,
  chain: PacketChain,
  rule: readonly RuleWord[] = [],
): CommandLine {
  return CommandLine.of(programOf(family)).literal(
    ...(['-w', lockWaitSeconds, operation, chain, '-t', table] as const),
    ...rule,
  );
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
export function chainProblem(made: CommandLine, outcome: CommandOutcome): string | undefined {
  return outcome.code === 0 || outcome.code === otherwise ? undefined : failureText(made, outcome);
}

export function rulePresence({ code }: CommandOutcome): Presence {
  if (code === 0) return 'there';
  return code === otherwise ? 'missing' : 'unknown';
}

export function failureText(failed: CommandLine, { code, stdout, stderr }: CommandOutcome): string {
  const said = `${stderr}\n${stdout}`.trim().split('\n')[0] ?? '';
  return `${failed} ended with ${code}${said === '' ? '' : `: ${said}`}`;
}
