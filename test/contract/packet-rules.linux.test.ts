/** The helper chains in a network of their own on this machine: they are made, and come back after a flush. */
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/async/index.js';
import { PacketRules, packetCommands } from '../../src/node/index.js';
import { CommandLine } from '../../src/programs/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { pollUntil } from '../env/poll.js';

const tables = ['mangle', 'nat', 'filter'];
const programs = ['iptables', 'ip6tables'];
/** Looks come sixty times a second instead of once a minute; all other times are as they are. */
const hastyClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, fire) => systemClock.setTimer(delayMs === 60_000 ? 1000 / 60 : delayMs, fire),
};

describe('packet rules on this machine', { timeout: 60_000 }, () => {
  let network: string;
  let stop: AbortController;
  let running: Promise<unknown> | undefined;
  let timeline: Timeline;

  beforeEach(() => {
    network = `nodelet-rules-${process.pid}-${Date.now()}`;
    // Fails without root: the machine's own tables must not be touched instead.
    execFileSync('ip', ['netns', 'add', network]);
    stop = new AbortController();
    timeline = new Timeline();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    running = undefined;
    execFileSync('ip', ['netns', 'delete', network]);
  });

  const inNetwork = (...words: string[]): string =>
    execFileSync('ip', ['netns', 'exec', network, ...words], { encoding: 'utf8' });
  const rulesOf = (program: string): string[] =>
    tables.flatMap((table) =>
      inNetwork(program, '-w', '5', '-S', '-t', table)
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('-P'))
        .map((line) => `${table} ${line}`),
    );
  const start = (): void => {
    running = new PacketRules({
      clock: hastyClock,
      timeline,
      run: ({ program, words }, signal) =>
        packetCommands(systemClock)(
          CommandLine.given('ip', ['netns', 'exec', network, program, ...words]),
          signal,
        ),
    })
      .run(stop.signal)
      .catch((error: unknown) => error);
  };
  const untilMade = (count: number): Promise<true> =>
    pollUntil(
      `the chains are made for the ${count}th time`,
      () => (timeline.ofNode().filter(({ kind }) => kind === 'effect').length === count ? true : undefined),
      {
        timeoutMs: 20_000,
        detail: () =>
          timeline
            .ofNode()
            .map(({ message }) => message)
            .join('\n'),
      },
    );

  const expected: Record<string, string[]> = {
    iptables: [
      'mangle -N KUBE-IPTABLES-HINT',
      'mangle -N KUBE-KUBELET-CANARY',
      'nat -N KUBE-KUBELET-CANARY',
      'filter -N KUBE-FIREWALL',
      'filter -N KUBE-KUBELET-CANARY',
      'filter -A INPUT -j KUBE-FIREWALL',
      'filter -A OUTPUT -j KUBE-FIREWALL',
      'filter -A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment ' +
        '"block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    ],
    ip6tables: [
      'mangle -N KUBE-IPTABLES-HINT',
      'mangle -N KUBE-KUBELET-CANARY',
      'nat -N KUBE-KUBELET-CANARY',
      'filter -N KUBE-KUBELET-CANARY',
    ],
  };

  it('are made once, whoever made them before', async () => {
    start();
    await untilMade(2);
    stop.abort();
    await running;
    stop = new AbortController();
    start();
    await untilMade(4);
    for (const program of programs) expect(rulesOf(program)).toEqual(expected[program]);
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toEqual([]);
  });

  it('come back after a flush of all tables', async () => {
    start();
    await untilMade(2);
    for (const program of programs) {
      for (const table of tables) {
        for (const how of ['-F', '-X']) inNetwork(program, '-w', '5', '-t', table, how);
      }
    }
    await untilMade(4);
    for (const program of programs) expect(rulesOf(program)).toEqual(expected[program]);
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toEqual([]);
  });
});
