/** The chains and rules that other programs expect in a node's packet filter, as commands and their results. */
import { CommandLine } from '../../programs/index.js';

export type AddressFamily = 'ipv4' | 'ipv6';
export const addressFamilies: readonly AddressFamily[] = ['ipv4', 'ipv6'];

export type PacketTable = 'mangle' | 'nat' | 'filter';

export interface PacketCommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A chain or rule that must exist. */
export type PacketStep =
  | { readonly kind: 'chain'; readonly table: PacketTable; readonly chain: PacketChain }
  | {
      readonly kind: 'rule';
      readonly table: PacketTable;
      readonly chain: PacketChain;
      /** Where to insert a missing rule; an existing one stays in place. */
      readonly position: 'first' | 'last';
      readonly rule: readonly RuleWord[];
    };

/** Empty; network programs look for it to learn which iptables variant the machine uses. */
const hintChain = 'KUBE-IPTABLES-HINT';
const firewallChain = 'KUBE-FIREWALL';
/** Empty; missing after someone flushed the tables, and the rules with it. */
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

/** Rules consist only of the words above. */
type RuleWord = (typeof jumpToFirewall | typeof blockLocalnet)[number];

/** The first is checked; a flush clears the tables one after another. */
export const canaryTables: readonly [PacketTable, ...PacketTable[]] = ['mangle', 'nat', 'filter'];

/** How long a command waits for the table lock. */
const lockWaitSeconds = '5';

export function programOf(family: AddressFamily): 'iptables' | 'ip6tables' {
  return family === 'ipv4' ? 'iptables' : 'ip6tables';
}

/** The chains and rules, in the order of creation. */
export function helperSteps(family: AddressFamily): readonly PacketStep[] {
  const hint: PacketStep = { kind: 'chain', table: 'mangle', chain: hintChain };
  // Only IPv4 routes a whole loopback network, which a neighbour could send to.
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

/** Fails if the machine does not support the family. */
export function supportCommand(family: AddressFamily): CommandLine {
  return command(family, '-S', 'nat', 'POSTROUTING');
}

export function canaryCommand(family: AddressFamily, table: PacketTable): CommandLine {
  return command(family, '-S', table, canaryChain);
}

/** Checks for the step's rule; chains need no check, as making one twice does no harm. */
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

/** The exit status for "not there", and for a chain that already exists. */
const otherwise = 1;
/** The exit status of a command that did not get the lock, which says nothing about the rule. */
const busy = 4;

export type RulePresence = 'there' | 'missing' | 'unknown';

export function chainPresence({ code }: PacketCommandOutcome): RulePresence {
  if (code === 0) return 'there';
  return code === busy ? 'unknown' : 'missing';
}

/** Undefined if the chain exists now. */
export function chainProblem(made: CommandLine, outcome: PacketCommandOutcome): string | undefined {
  return outcome.code === 0 || outcome.code === otherwise ? undefined : failureText(made, outcome);
}

export function rulePresence({ code }: PacketCommandOutcome): RulePresence {
  if (code === 0) return 'there';
  return code === otherwise ? 'missing' : 'unknown';
}

export function failureText(failed: CommandLine, { code, stdout, stderr }: PacketCommandOutcome): string {
  const said = `${stderr}\n${stdout}`.trim().split('\n')[0] ?? '';
  return `${failed} ended with ${code}${said === '' ? '' : `: ${said}`}`;
}
