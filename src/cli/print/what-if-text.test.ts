import { describe, expect, it } from 'vitest';
import type { EvictionOutlook, GarbageOutlook, PodOutlook } from '../../kubelet/index.js';
import { evictionText, garbageText, shutdownText } from './what-if-text.js';

const pod = (name: string, over: Partial<PodOutlook> = {}): PodOutlook => ({
  namespace: 'default',
  name,
  uid: `uid-${name}`,
  priority: 0,
  usage: 1,
  request: 0,
  graceSeconds: 1,
  because: 'it uses 1Gi',
  ...over,
});
const eviction = (pods: readonly PodOutlook[], omitted = 0): EvictionOutlook => ({
  next: 'The next pass does nothing: no threshold is met.',
  conditions: [],
  overLimits: { items: [], omitted: 0 },
  signals: [
    {
      signal: 'nodefs.available',
      unit: 'bytes',
      available: 50 * 1024 ** 3,
      capacity: 100 * 1024 ** 3,
      thresholds: [
        { kind: 'hard', value: 10 * 1024 ** 3, gracePeriod: '0s', met: false },
        { kind: 'soft', value: 60 * 1024 ** 3, gracePeriod: '1m0s', met: true },
      ],
      reclaimFirst: ['containers', 'images'],
      pods: { items: pods, omitted },
    },
  ],
});

describe('evictionText', () => {
  it('shows signals, thresholds, what is freed first, the order and who is passed over', () => {
    const pods = [
      pod('web', { place: 1 }),
      pod('dns', { priority: 2_000_001_000, passedOver: 'critical pods are not evicted' }),
    ];
    expect(evictionText(eviction(pods), 20)).toBe(`The next pass does nothing: no threshold is met.

nodefs.available: 50GiB of 100GiB available; hard threshold 10GiB is not met; soft threshold 60GiB for 1m0s is met
First the node removes dead containers, then unused images.
PLACE   POD           PRIORITY     GRACE   REASON
1       default/web   0            1s      it uses 1Gi
-       default/dns   2000001000   -       passed over: critical pods are not evicted
`);
  });

  it('shortens lists and says by how much', () => {
    const pods = Array.from({ length: 30 }, (_, index) => pod(`p${index}`, { place: index + 1 }));
    expect(evictionText(eviction(pods, 5), 20)).toContain('\n… and 15 more; --all shows more\n');
    expect(evictionText(eviction(pods, 5), Number.POSITIVE_INFINITY)).toContain('\n… and 5 more\n');
  });

  it('names hostile pods without moving the cursor', () => {
    const text = evictionText(eviction([pod('a\u001b[2Jb\nc', { place: 1, because: 'x\ry\u009b' })]), 20);
    expect(text).toContain('default/a [2Jb c');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('says why nothing is evicted', () => {
    expect(evictionText({ ...eviction([]), off: 'nobody asked', signals: [] }, 20)).toBe(
      'This node evicts no pods: nobody asked.\n',
    );
  });
});

describe('garbageText', () => {
  const none = { items: [], omitted: 0 };
  const outlook: GarbageOutlook = {
    containers: none,
    sandboxes: none,
    logDirectories: none,
    images: none,
    imageFileSystem: {
      usedPercent: 90,
      highThresholdPercent: 85,
      lowThresholdPercent: 80,
      wantedBytes: 2048,
    },
    imageBytes: { now: 2048, underDiskPressure: 3 * 1024 ** 2 },
  };

  it('says when each thing goes and why', () => {
    const uid = 'u';
    expect(
      garbageText(
        {
          ...outlook,
          containers: {
            items: [
              {
                id: 'a'.repeat(64),
                pod: { namespace: 'ns', name: 'web', uid },
                container: 'app',
                when: 'now',
                because: 'the pod is gone',
              },
            ],
            omitted: 0,
          },
          images: {
            items: [
              { id: 'sha256:x', name: 'web:1', sizeBytes: 5_000_000, when: 'kept', because: 'it is used' },
              { id: 'sha256:y', name: '', sizeBytes: 10, when: 'disk-pressure', because: 'unused' },
            ],
            omitted: 0,
          },
        },
        20,
      ),
    ).toBe(`Dead containers:
WHEN       POD      CONTAINER   ID              REASON
goes now   ns/web   app         aaaaaaaaaaaaa   the pod is gone

Ended sandboxes: none

Logs of pods that are gone: none

Images:
WHEN                    IMAGE   SIZE     REASON
stays                   web:1   4.8MiB   it is used
goes if disk is short   y       10B      unused

The file system is 90% full, images go from 85%; 2.0KiB have to be freed. Images give back 2.0KiB now, 3.0MiB under disk pressure.
`);
  });
});

describe('shutdownText', () => {
  it('shows the groups in their order', () => {
    const member = { namespace: 'default', uid: 'u', priority: 0, graceSeconds: 20, because: 'its own' };
    const group = (priority: number, name: string) => ({
      priority,
      periodSeconds: 20,
      pods: { items: [{ ...member, name, priority }], omitted: 0 },
    });
    expect(
      shutdownText({ delaySeconds: 40, groups: [group(0, 'web'), group(100, 'dns')] }, 20),
    ).toBe(`A shutdown of the machine waits up to 40s for pods.

1. Pods of priority 0 and higher end together, at most 20s long:
POD           PRIORITY   GRACE   REASON
default/web   0          20s     its own

2. Pods of priority 100 and higher end together, at most 20s long:
POD           PRIORITY   GRACE   REASON
default/dns   100        20s     its own
`);
  });
});
