import { describe, expect, it } from 'vitest';
import type { ConfigOutlook } from '../../kubelet/index.js';
import { configText } from './what-if-config-text.js';

const list = <T>(...items: T[]) => ({ items, omitted: 0 });
const accepted: Extract<ConfigOutlook, { kind: 'accepted' }> = {
  kind: 'accepted',
  file: '/etc/new.yaml',
  warnings: list(),
  changes: list(),
  allocatable: [],
  cgroups: list(),
  eviction: { next: 'The next pass does nothing: no threshold is met.', met: [], overLimits: list() },
  refusedPods: list(),
  images: { goNow: list(), bytes: 0 },
  shutdownDelaySeconds: { before: 0, after: 0 },
};

describe('configText', () => {
  it('names the file, the problem and the fix', () => {
    expect(
      configText({ kind: 'refused', file: '/a\u001b[2J', problem: 'maxPods\n-1', hint: 'use 1' }, 20),
    ).toBe('/a [2J cannot be used: the agent would not start with it.\nmaxPods -1\nuse 1\n');
  });

  it('says when nothing changes', () => {
    expect(configText(accepted, 20)).toBe('/etc/new.yaml changes nothing.\n');
  });

  it('shows fields, then what they do now', () => {
    const outlook: ConfigOutlook = {
      ...accepted,
      changes: list(
        { field: 'maxPods', before: '110', after: '1', effect: 'restart' },
        { field: 'enableContentionProfiling', before: 'false', after: 'true', effect: 'none' },
      ),
      allocatable: [{ name: 'memory', before: '8Gi', after: '6Gi' }],
      cgroups: list({ cgroup: 'all pods', name: 'memory limit', before: '8', after: '6' }),
      eviction: {
        next: 'The next pass acts on memory.available: default/web is evicted.',
        met: [
          {
            signal: 'memory.available',
            unit: 'bytes',
            kind: 'soft',
            value: 2048,
            gracePeriod: '1m0s',
            available: 1024,
          },
        ],
        overLimits: list(),
      },
      refusedPods: list({
        namespace: 'default',
        name: 'web',
        uid: 'u',
        reason: 'OutOfpods',
        message: 'full',
      }),
      shutdownDelaySeconds: { before: 0, after: 30 },
    };
    expect(configText(outlook, 20)).toBe(`/etc/new.yaml changes:
FIELD                       NOW     THEN   EFFECT
maxPods                     110     1      after a restart
enableContentionProfiling   false   true   none in this build

Allocatable of the node:
RESOURCE   NOW   THEN
memory     8Gi   6Gi

Cgroups:
CGROUP     VALUE          NOW   THEN
all pods   memory limit   8     6

Thresholds met at once:
SIGNAL             THRESHOLD         AVAILABLE
memory.available   2.0KiB for 1m0s   1.0KiB

The next pass acts on memory.available: default/web is evicted.

Pods that are refused:
POD           REASON      MESSAGE
default/web   OutOfpods   full

A shutdown waits up to 30s for pods instead of 0s.
`);
  });
});
