import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { followPulls } from './pull-times.js';

it('a pull lasts from its event to its end or its failure, until the signal', () => {
  const timeline = new Timeline({ clock: new VirtualClock() });
  const told: string[] = [];
  const stop = new AbortController();
  const latency = {
    pullStarted: (uid: string) => void told.push(`started ${uid}`),
    pullEnded: (uid: string) => void told.push(`ended ${uid}`),
  };
  followPulls(timeline, latency, stop.signal);
  const event = (uid: string, reason: string) =>
    timeline.event({ uid, name: uid, namespace: 'd' }, 'Normal', reason, 'x');
  event('a', 'Pulling');
  event('b', 'Pulling');
  event('a', 'Pulled');
  event('a', 'Created');
  event('b', 'Failed');
  timeline.nodeEvent('n1', 'Normal', 'Pulling', 'not of a pod');
  stop.abort();
  event('c', 'Pulling');
  expect(told).toEqual(['started a', 'started b', 'ended a', 'ended b']);
});
