import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancelled, settle, VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { PacketRules, type RunPacketCommand } from './packet-rules.js';
import {
  type AddressFamily,
  chainPresence,
  chainProblem,
  checkCommand,
  helperSteps,
  makeCommand,
  rulePresence,
} from './plan.js';

const localnet =
  '-m comment --comment "block incoming localnet connections" --dst 127.0.0.0/8 ! --src 127.0.0.0/8 ' +
  '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';

/** All commands for an empty table, in order. */
function commandsOf(family: AddressFamily): string[] {
  return helperSteps(family).flatMap((step) =>
    [checkCommand(family, step) ?? [], makeCommand(family, step)].flat().map(String),
  );
}

describe('the helper chains as commands', () => {
  it('IPv4 has the hint and the firewall, each rule checked first', () => {
    expect(commandsOf('ipv4')).toEqual([
      'iptables -w 5 -N KUBE-IPTABLES-HINT -t mangle',
      'iptables -w 5 -N KUBE-FIREWALL -t filter',
      'iptables -w 5 -C OUTPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -I OUTPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -C INPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -I INPUT -t filter -j KUBE-FIREWALL',
      `iptables -w 5 -C KUBE-FIREWALL -t filter ${localnet}`,
      `iptables -w 5 -A KUBE-FIREWALL -t filter ${localnet}`,
    ]);
  });

  it('IPv6 has the hint only', () => {
    expect(commandsOf('ipv6')).toEqual(['ip6tables -w 5 -N KUBE-IPTABLES-HINT -t mangle']);
  });

  const outcome = (code: number) => ({ code, stdout: '', stderr: '' });
  const make = makeCommand('ipv6', { kind: 'chain', table: 'mangle', chain: 'INPUT' });
  it.each([
    { rule: 'status 0: the chain was created', code: 0, problem: undefined },
    { rule: 'status 1: the chain already existed', code: 1, problem: undefined },
    { rule: 'status 3: a failure', code: 3, problem: 'ip6tables -w 5 -N INPUT -t mangle ended with 3' },
  ])('$rule', ({ code, problem }) => {
    expect(chainProblem(make, outcome(code))).toBe(problem);
  });

  it.each([
    { code: 0, chain: 'there', rule: 'there' },
    { code: 1, chain: 'missing', rule: 'missing' },
    { code: 2, chain: 'missing', rule: 'unknown' },
    { code: 4, chain: 'unknown', rule: 'unknown' },
  ])('exit status $code of a check: chain $chain, rule $rule', ({ code, chain, rule }) => {
    expect([chainPresence(outcome(code)), rulePresence(outcome(code))]).toEqual([chain, rule]);
  });
});

/** Both programs with tables in memory. */
class Tables {
  readonly chains = new Set<string>();
  readonly rules = new Map<string, string[]>();
  readonly asked: string[] = [];
  /** The outcome of a command instead of its own; `away` is a missing program. */
  fault: (line: string) => 'away' | 'hangs' | { code: number; stderr: string } | undefined = () => undefined;

  readonly run: RunPacketCommand = async ({ program: command, words }, signal) => {
    const line = [command, ...words].join(' ');
    this.asked.push(line);
    const fault = this.fault(line);
    if (fault === 'away') throw new Error(`spawn ${command} ENOENT`);
    if (fault === 'hangs') {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Cancelled()), { once: true });
      });
    }
    if (fault !== undefined) return { stdout: '', ...fault };
    const [, , operation, chain, , table, ...rule] = words;
    const key = `${command} ${table} ${chain}`;
    const answer = (there: boolean) => ({ code: there ? 0 : 1, stdout: '', stderr: '' });
    const rules = this.rules.get(key) ?? [];
    switch (operation) {
      case '-S':
        return answer(chain === 'POSTROUTING' || this.chains.has(key));
      case '-N':
        return answer(!this.chains.has(key) && this.chains.add(key) !== undefined);
      case '-C':
        return answer(rules.includes(rule.join(' ')));
      case '-I':
        this.rules.set(key, [rule.join(' '), ...rules]);
        return answer(true);
      default:
        this.rules.set(key, [...rules, rule.join(' ')]);
        return answer(true);
    }
  };

  flush(...tables: string[]): void {
    for (const kept of [this.chains, this.rules]) {
      for (const key of [...kept.keys()])
        if (tables.length === 0 || tables.some((table) => key.includes(` ${table} `))) kept.delete(key);
    }
  }
}

describe('PacketRules', () => {
  let clock: VirtualClock;
  let timeline: Timeline;
  let tables: Tables;
  let stop: AbortController;
  let running: Promise<unknown>;

  beforeEach(() => {
    clock = new VirtualClock();
    timeline = new Timeline({ clock });
    tables = new Tables();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });

  async function start(): Promise<void> {
    const { run } = tables;
    running = new PacketRules({ clock, timeline, run }).run(stop.signal).catch((error: unknown) => error);
    await settle(40);
  }
  const messages = (kind: string) =>
    timeline
      .ofNode()
      .filter((entry) => entry.kind === kind)
      .map(({ message }) => message);
  const all = [
    'ip6tables filter KUBE-KUBELET-CANARY',
    'ip6tables mangle KUBE-IPTABLES-HINT',
    'ip6tables mangle KUBE-KUBELET-CANARY',
    'ip6tables nat KUBE-KUBELET-CANARY',
    'iptables filter KUBE-FIREWALL',
    'iptables filter KUBE-KUBELET-CANARY',
    'iptables mangle KUBE-IPTABLES-HINT',
    'iptables mangle KUBE-KUBELET-CANARY',
    'iptables nat KUBE-KUBELET-CANARY',
  ];

  it('creates all chains at startup and puts the jump before existing rules', async () => {
    tables.rules.set('iptables filter INPUT', ['-j ACCEPT']);
    await start();
    expect([...tables.chains].sort()).toEqual(all);
    expect(tables.rules.get('iptables filter INPUT')).toEqual(['-j KUBE-FIREWALL', '-j ACCEPT']);
    expect(tables.rules.get('iptables filter KUBE-FIREWALL')).toHaveLength(1);
  });

  it('keeps the chains of an earlier run', async () => {
    await start();
    stop.abort();
    await running;
    stop = new AbortController();
    tables.asked.length = 0;
    await start();
    expect(tables.asked.filter((line) => / -[IA] /.test(line))).toEqual([]);
    expect(tables.rules.get('iptables filter OUTPUT')).toEqual(['-j KUBE-FIREWALL']);
  });

  it('reports missing programs once, without an error', async () => {
    tables.fault = () => 'away';
    await start();
    expect(await running).toBeUndefined();
    expect(messages('notice')).toEqual([
      'No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain',
    ]);
    expect(messages('problem')).toEqual([]);
  });

  it('leaves a family alone that cannot be listed', async () => {
    tables.fault = (line) => (line.startsWith('ip6tables') ? { code: 3, stderr: 'no table' } : undefined);
    await start();
    expect([...tables.chains].every((key) => key.startsWith('iptables '))).toBe(true);
    expect(messages('notice')).toEqual([]);
    expect(tables.asked.filter((line) => line.startsWith('ip6tables'))).toHaveLength(1);
  });

  it('checks every minute with one command per family', async () => {
    await start();
    tables.asked.length = 0;
    await clock.advance(59_999);
    expect(tables.asked).toEqual([]);
    await clock.advance(1);
    expect(tables.asked.sort()).toEqual([
      'ip6tables -w 5 -S KUBE-KUBELET-CANARY -t mangle',
      'iptables -w 5 -S KUBE-KUBELET-CANARY -t mangle',
    ]);
  });

  it('restores everything after a flush', async () => {
    await start();
    tables.flush();
    await clock.advance(60_000);
    await settle(40);
    expect([...tables.chains].sort()).toEqual(all);
    expect(tables.rules.get('iptables filter OUTPUT')).toEqual(['-j KUBE-FIREWALL']);
    expect(timeline.ofNode().at(-1)?.because).toBe('somebody flushed the tables');
  });

  it('waits for a flush that has not reached the other tables', async () => {
    await start();
    tables.flush('mangle');
    await clock.advance(60_000);
    await clock.advance(300);
    expect(tables.chains.has('iptables mangle KUBE-IPTABLES-HINT')).toBe(false);
    tables.flush();
    await clock.advance(100);
    await settle(40);
    expect([...tables.chains].sort()).toEqual(all);
  });

  it('waits at most five seconds for it', async () => {
    await start();
    tables.flush('mangle');
    await clock.advance(65_100);
    await settle(40);
    expect([...tables.chains].sort()).toEqual(all);
    expect(messages('observation')).toContain(
      'iptables was flushed in part: nat and filter still have their chain',
    );
  });

  it('reports a failure once and retries at the next check', async () => {
    tables.fault = (line) =>
      line.includes('-N KUBE-FIREWALL')
        ? { code: 4, stderr: 'Another app is holding the xtables lock' }
        : undefined;
    await start();
    await clock.advance(180_000);
    expect(messages('problem')).toEqual([
      "the node's chains may be missing in iptables: iptables -w 5 -N KUBE-FIREWALL -t filter ended with 4: " +
        'Another app is holding the xtables lock',
    ]);
    tables.fault = () => undefined;
    await clock.advance(60_000);
    await settle(40);
    expect([...tables.chains].sort()).toEqual(all);
  });

  it('does not take a failed check for a flush', async () => {
    await start();
    tables.fault = (line) => (line.includes('-S') ? { code: 4, stderr: 'busy' } : undefined);
    tables.asked.length = 0;
    await clock.advance(60_000);
    expect(tables.asked.filter((line) => !line.includes(' -S '))).toEqual([]);
    expect(messages('problem')).toHaveLength(2);
  });

  it('abandons a hung command, and retries', async () => {
    tables.fault = (line) => (line.startsWith('iptables -w 5 -C INPUT') ? 'hangs' : undefined);
    await start();
    await clock.advance(30_000);
    expect(messages('problem')).toEqual([
      "the node's chains may be missing in iptables: iptables -w 5 -C INPUT -t filter -j KUBE-FIREWALL: timed out after 30000ms",
    ]);
    tables.fault = () => undefined;
    await clock.advance(60_000);
    await settle(40);
    expect([...tables.chains].sort()).toEqual(all);
  });

  it('stops in the middle of a command', async () => {
    tables.fault = (line) => (line.includes('-N') ? 'hangs' : undefined);
    await start();
    stop.abort();
    expect(await running).toBeInstanceOf(Cancelled);
  });
});
