import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import type { HealthCheck } from './contracts.js';
import { healthzRoutes, pingCheck } from './healthz.js';
import { LogHealth } from './log-health.js';
import { dispatch } from './routes.js';

const well = (name: string): HealthCheck => ({ name, check: () => undefined });
const ill = (name: string, why: string): HealthCheck => ({ name, check: () => why });

const ask = async (checks: HealthCheck[], target: string) => {
  const [path = '', query] = target.split('?');
  const request = { method: 'GET', path, query: new URLSearchParams(query), headers: {} };
  const { status, body } = await dispatch(healthzRoutes(checks), request);
  return [status, body];
};

describe('healthz', () => {
  const stuck = ill('syncloop', 'sync Loop took longer than expected');
  const stuckLines = '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\n';
  const throwing: HealthCheck = {
    name: 'log',
    check: () => {
      throw new Error('broken');
    },
  };
  it.each<[string, HealthCheck[], string, number, string]>([
    ['is ok when all checks are', [pingCheck, well('log')], '/healthz', 200, 'ok'],
    [
      'lists the checks when asked to be verbose',
      [pingCheck, well('log')],
      '/healthz?verbose',
      200,
      '[+]ping ok\n[+]log ok\nhealthz check passed\n',
    ],
    [
      'lists the checks on failure without the reason',
      [pingCheck, well('log'), stuck],
      '/healthz',
      500,
      `${stuckLines}healthz check failed\n`,
    ],
    ['leaves excluded checks out', [pingCheck, stuck], '/healthz?exclude=syncloop', 200, 'ok'],
    [
      'says what was excluded and what could not be',
      [pingCheck, stuck],
      '/healthz?verbose=1&exclude=syncloop&exclude=zzz&exclude=a',
      200,
      '[+]ping ok\n[+]syncloop excluded: ok\n' +
        'warn: some health checks cannot be excluded: no matches for "a","zzz"\nhealthz check passed\n',
    ],
    ['answers for one check', [pingCheck, stuck], '/healthz/ping', 200, 'ok'],
    [
      'gives the reason of one check',
      [pingCheck, stuck],
      '/healthz/syncloop',
      500,
      'internal server error: sync Loop took longer than expected\n',
    ],
    [
      'counts a check that throws as failed',
      [pingCheck, throwing],
      '/healthz/log',
      500,
      'internal server error: broken\n',
    ],
    ['does not know checks that do not exist', [pingCheck], '/healthz/log', 404, '404 page not found\n'],
  ])('%s', async (_, checks, target, status, body) => {
    expect(await ask(checks, target)).toEqual([status, body]);
  });
});

describe('LogHealth', () => {
  it('fails when no flush finished for two minutes, and recovers', async () => {
    const clock = new VirtualClock();
    let release: (() => void) | undefined;
    let hang = false;
    const health = new LogHealth(clock, async () => {
      if (hang) {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
    });
    health.start();
    await clock.advance(600_000);
    expect(health.check()).toBeUndefined();
    hang = true;
    await clock.advance(119_000);
    expect(health.check()).toBeUndefined();
    await clock.advance(62_000);
    expect(health.check()).toBe('logging blocked');
    hang = false;
    release?.();
    await clock.advance(1);
    expect(health.check()).toBeUndefined();
    health.stop();
    expect(clock.pendingTimers).toBe(0);
  });
  it('reports why flushes fail', async () => {
    const clock = new VirtualClock();
    const health = new LogHealth(clock, () => Promise.reject(new Error('EPIPE')));
    health.start();
    await clock.advance(121_000);
    expect(health.check()).toBe('logging blocked: EPIPE');
    health.stop();
  });
});
