import { describe, expect, it } from 'vitest';
import type { HollowNodeRequest } from '../fleet/contracts.js';
import type { ThreadAnswers, ThreadCall } from './thread-messages.js';
import { type ThreadFleet, threadedControl } from './threaded-fleet.js';

/** Threads that keep the names that they are given. */
function fleetOf(threads: number) {
  const names = Array.from({ length: threads }, (): string[] => []);
  const ranges: (string | undefined)[] = [];
  const fleets = names.map((mine): ThreadFleet => {
    const answer = (request: ThreadCall): ThreadAnswers[ThreadCall['call']] => {
      switch (request.call) {
        case 'add':
          mine.push(...request.nodes.map(({ name }) => name));
          ranges.push(...request.nodes.map(({ podCidr }) => podCidr));
          return undefined;
        case 'act':
          if (request.action === 'remove')
            for (const name of request.names) mine.splice(mine.indexOf(name), 1);
          return request.names.map((name) => ({ name, problem: undefined }));
        case 'report':
          return {
            nodes: mine.map((name) => ({
              name,
              state: 'ready',
              pods: 1,
              port: undefined,
              problem: undefined,
            })),
            watches: { opened: 5, served: mine.length * 5 },
          };
        case 'stop':
          return mine.splice(0).map((name) => ({ name, problem: undefined }));
      }
    };
    return {
      ask: async <Call extends ThreadCall['call']>(request: ThreadCall & { readonly call: Call }) =>
        answer(request) as ThreadAnswers[Call],
      stop: async (deletesNodes) => answer({ call: 'stop', deletesNodes }) as ThreadAnswers['stop'],
    };
  });
  const nodes = (...wanted: string[]): HollowNodeRequest[] => wanted.map((name) => ({ name }));
  return { control: threadedControl(fleets), names, nodes, ranges };
}

describe('nodes in several threads', () => {
  it('go to the thread that has the fewest', async () => {
    const { control, names, nodes } = fleetOf(2);
    await control.add(nodes('a', 'b', 'c', 'd'));
    expect(names).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
    await control.act('remove', ['a', 'c'], false);
    await control.add(nodes('e', 'f'));
    expect(names).toEqual([
      ['e', 'f'],
      ['b', 'd'],
    ]);
  });

  it('never have pods of one address', async () => {
    const { control, nodes, ranges } = fleetOf(2);
    await control.add(nodes('a', 'b', 'c'));
    expect([...ranges].sort()).toEqual(['10.64.0.0/24', '10.64.1.0/24', '10.64.2.0/24']);
  });

  it('are reached where they are, and one that is not there is told', async () => {
    const { control, nodes } = fleetOf(3);
    await control.add(nodes('a', 'b', 'c'));
    expect(await control.act('kill', ['c', 'nobody', 'a'], false)).toEqual([
      { name: 'c', problem: undefined },
      { name: 'a', problem: undefined },
      { name: 'nobody', problem: 'there is no such node in this process' },
    ]);
  });

  it('are reported and stopped together', async () => {
    const { control, names, nodes } = fleetOf(2);
    await control.add(nodes('a', 'b', 'c'));
    const report = await control.report();
    expect(report.nodes.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
    expect(report.watches).toEqual({ opened: 10, served: 15 });
    expect(await control.stop(false)).toHaveLength(3);
    expect(names).toEqual([[], []]);
  });
});
