import { describe, expect, it } from 'vitest';
import { sandboxIps } from './pod-ips.js';

describe('pod ips', () => {
  it.each([
    ['primary first', { ip: '10.0.0.1', additionalIps: ['fd00::1'] }, ['10.0.0.1', 'fd00::1']],
    ['an unreadable address empties the list', { ip: '10.0.0.1', additionalIps: ['nonsense'] }, []],
    ['none', { ip: '', additionalIps: [] }, []],
    ['no network', undefined, []],
  ])('IP addresses: %s', (_, network, expected) => {
    expect(sandboxIps({ network })).toEqual(expected);
  });
});
