import { describe, expect, it } from 'vitest';
import { countRequests, formatPerPod, podRequests } from './audit.js';

const line = (username: string, verb: string, objectRef: object): string =>
  `${JSON.stringify({ kind: 'Event', verb, user: { username }, objectRef })}\n`;

const log = [
  line('system:node:a', 'patch', { resource: 'pods', subresource: 'status' }),
  line('system:node:a', 'patch', { resource: 'pods', subresource: 'status' }),
  line('system:node:a', 'create', { resource: 'events' }),
  line('system:node:a', 'watch', { resource: 'pods' }),
  line('system:node:a', 'update', { resource: 'leases' }),
  line('system:node:b', 'create', { resource: 'events' }),
].join('');

describe('requests of a node in the audit log', () => {
  it('are counted by what they ask for, without watches and other nodes', () => {
    expect([...countRequests(log, 'system:node:a')]).toEqual([
      ['patch pods/status', 2],
      ['create events', 1],
      ['update leases', 1],
    ]);
  });

  it('are those of its pods without its lease', () => {
    expect(podRequests(countRequests(log, 'system:node:a'))).toBe(3);
  });

  it('are shown per pod', () => {
    expect(formatPerPod(countRequests(log, 'system:node:a'), 2)).toBe(
      'patch pods/status 1.0, create events 0.5, update leases 0.5',
    );
  });
});
