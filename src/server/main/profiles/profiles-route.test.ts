import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../../async/index.js';
import type { RouteResponse } from '../../responses.js';
import { dispatch, type Route } from '../../routes.js';
import type { Profiler } from './profiler.js';
import { v8Profiler } from './profiler.js';
import { profilesRoute } from './profiles-route.js';
import { readPprof } from './test-pprof.js';

const frame = { functionName: 'busy', url: 'file:///a.js', lineNumber: 0 };
let clock: VirtualClock;
let route: Route;
let running: number;

const simulated: Profiler = {
  async cpu(_interval, until) {
    running++;
    try {
      await until();
      return {
        nodes: [{ id: 1, callFrame: frame }],
        startTime: 0,
        endTime: 3000,
        samples: [1],
        timeDeltas: [1000],
      };
    } finally {
      running--;
    }
  },
  async allocations(_options, until) {
    await until();
    return { head: { callFrame: frame, selfSize: 12, children: [] } };
  },
};

beforeEach(() => {
  clock = new VirtualClock();
  running = 0;
  route = profilesRoute({ clock, profiler: async () => simulated, argv: ['node', 'agent'] });
});

function ask(target: string, signal?: AbortSignal): Promise<RouteResponse> {
  const [path = '', query = ''] = `/debug/pprof/${target}`.split('?');
  const shared = { method: 'GET', path, query: new URLSearchParams(query), headers: {} };
  return dispatch([route], signal === undefined ? shared : { ...shared, signal });
}

describe('a profile', () => {
  it.each([
    ['profile?seconds=2', ['samples/count', 'cpu/nanoseconds'], [1, 2_000_000]],
    ['heap?seconds=2', ['inuse_space/bytes'], [12]],
    ['allocs?seconds=2', ['alloc_space/bytes'], [12]],
  ])('%s is compressed and takes as long as asked', async (target, valueTypes, values) => {
    const asked = ask(target);
    await clock.advance(1999);
    expect(await Promise.race([asked, settle().then(() => 'nothing yet')])).toBe('nothing yet');
    await clock.advance(1);
    const { status, headers, body } = await asked;
    expect([status, headers['Content-Type']]).toEqual([200, 'application/octet-stream']);
    expect(readPprof(gunzipSync(body as Uint8Array))).toMatchObject({
      valueTypes,
      samples: [{ stack: ['busy /a.js:1 at 1'], values }],
      durationNs: 2e9,
    });
  });

  it('is taken alone, and the next one after it', async () => {
    const first = ask('profile?seconds=5');
    await settle();
    for (const other of ['profile', 'heap', 'allocs']) expect((await ask(other)).status).toBe(429);
    expect((await ask('cmdline')).body).toBe('node\0agent');
    await clock.advance(5000);
    expect((await first).status).toBe(200);
    const next = ask('heap?seconds=1');
    await clock.advance(1000);
    expect((await next).status).toBe(200);
  });

  it('ends when the client leaves', async () => {
    const client = new AbortController();
    const asked = ask('profile?seconds=300', client.signal).catch(() => 'left');
    await settle();
    expect(running).toBe(1);
    client.abort();
    expect(await asked).toBe('left');
    expect([running, clock.pendingTimers]).toEqual([0, 0]);
    const next = ask('profile?seconds=1');
    await clock.advance(1000);
    expect((await next).status).toBe(200);
  });

  it('that fails says why, and lets the next one be taken', async () => {
    route = profilesRoute({
      clock,
      profiler: () => Promise.reject(new Error('no inspector')),
      argv: [],
    });
    for (let attempt = 0; attempt < 2; attempt++) {
      const { status, body } = await ask('profile');
      expect([status, body]).toEqual([500, 'Could not take the profile: no inspector\n']);
    }
  });
});

describe('the profiler of V8', () => {
  function spinsForAWhile(): number {
    let sum = 0;
    const endMs = performance.now() + 60;
    while (performance.now() < endMs) sum += Math.sqrt(sum + 1);
    return sum;
  }

  it('finds the function that uses the CPU', async () => {
    const profile = await v8Profiler.cpu(1, async () => void spinsForAWhile());
    const spinning = profile.nodes.find(({ callFrame }) => callFrame.functionName === 'spinsForAWhile');
    expect(spinning).toBeDefined();
    expect(profile.samples).toHaveLength(profile.timeDeltas?.length ?? 0);
  });

  it('finds the function that allocates', async () => {
    const kept: unknown[] = [];
    function allocatesMuch(): void {
      for (let index = 0; index < 2000; index++) kept.push(new Array(100).fill(index));
    }
    const profile = await v8Profiler.allocations(
      { samplingIntervalBytes: 1024, withFreed: false },
      async () => allocatesMuch(),
    );
    expect(JSON.stringify(profile.head)).toContain('allocatesMuch');
    expect(kept).toHaveLength(2000);
  });

  it('takes nothing when the wait is cut off, and can be used again', async () => {
    await expect(v8Profiler.cpu(1, () => Promise.reject(new Error('left')))).rejects.toThrow('left');
    expect((await v8Profiler.cpu(1, async () => {})).nodes.length).toBeGreaterThan(0);
  });
});
