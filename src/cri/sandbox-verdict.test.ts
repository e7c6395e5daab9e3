import { describe, expect, it } from 'vitest';
import type { Pod } from '../kube/index.js';
import type { ObservedSandboxStatus } from './observed.js';
import { sandboxVerdict } from './sandbox-verdict.js';

const makePod = (hostNetwork?: boolean): Pod => ({
  metadata: { uid: 'u', name: 'web', namespace: 'default' },
  spec: { containers: [], ...(hostNetwork === undefined ? {} : { hostNetwork }) },
});
const makeSandbox = (extra: Partial<ObservedSandboxStatus>): ObservedSandboxStatus => ({
  id: 'a',
  ready: true,
  attempt: 0,
  createdAtNs: 1n,
  hostNetwork: false,
  network: { ip: '10.0.0.7', additionalIps: [] },
  runtimeHandler: '',
  ...extra,
});

describe('sandboxVerdict', () => {
  const own = makePod();
  const host = makePod(true);
  const noIp = { network: { ip: '', additionalIps: [] } };
  it.each([
    ['no sandbox', own, [], true, 0, ''],
    [
      'two ready sandboxes',
      own,
      [
        { id: 'b', attempt: 4 },
        { id: 'a', attempt: 3 },
      ],
      true,
      5,
      'b',
    ],
    ['the newest is not ready', own, [{ id: 'b', attempt: 1, ready: false }, { id: 'a' }], true, 2, 'b'],
    ['another network', own, [{ id: 'a', hostNetwork: true }], true, 1, ''],
    ['no IP', own, [{ id: 'a', ...noIp }], true, 1, 'a'],
    ['the runtime reports no network', own, [{ id: 'a', network: undefined }], false, 0, 'a'],
    ['no IP on the node network', host, [{ id: 'a', hostNetwork: true, ...noIp }], false, 0, 'a'],
    [
      'an older exited sandbox beside a ready one',
      own,
      [
        { id: 'b', attempt: 1 },
        { id: 'a', ready: false },
      ],
      false,
      1,
      'b',
    ],
  ] as const)('%s', (_, pod, sandboxes, changed, attempt, sandboxId) => {
    expect(sandboxVerdict(pod, sandboxes.map(makeSandbox))).toMatchObject({ changed, attempt, sandboxId });
  });
});
