import { describe, expect, it } from 'vitest';
import type { DescribedPod, DescribedResource, NodeDescription } from '../../kubelet/index.js';
import { nodeText } from './node-text.js';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const options = { most: 20, nowMs };
const none = { items: [], omitted: 0 };

const resource = (name: string, more: Partial<DescribedResource>): DescribedResource => ({
  name,
  capacity: '0',
  systemReserved: '0',
  kubeReserved: '0',
  evictionReserved: '0',
  inHugePages: '0',
  allocatable: '0',
  requested: '0',
  limits: '0',
  free: '0',
  ...more,
});
const pod = (name: string, more: Partial<DescribedPod> = {}): DescribedPod => ({
  namespace: 'default',
  name,
  uid: `uid-${name}`,
  qosClass: 'BestEffort',
  priority: 0,
  requests: {},
  limits: {},
  ...more,
});
const bare: NodeDescription = {
  name: 'n1',
  system: {
    kubeletVersion: 'v1.37.1',
    containerRuntimeVersion: 'containerd://2.1.0',
    osImage: 'Debian',
    kernelVersion: '6.1',
    architecture: 'amd64',
  },
  addresses: [],
  labels: {},
  taints: [],
  conditions: [],
  pressure: { signals: [] },
  resources: [],
  pods: none,
  holdings: { holders: none },
};

describe('nodeText', () => {
  it('shows a node on one screen', () => {
    const text = nodeText(
      {
        ...bare,
        addresses: [{ type: 'InternalIP', address: '10.0.0.7' }],
        labels: { disk: 'ssd', zone: 'a' },
        taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            lastTransitionTime: '2026-01-01T00:55:00Z',
            reason: 'KubeletReady',
            message: 'ready',
          },
        ],
        pressure: {
          signals: [
            {
              signal: 'memory.available',
              unit: 'bytes',
              available: 3 * 1024 ** 3,
              capacity: 4 * 1024 ** 3,
              thresholds: [
                { kind: 'hard', value: 100 * 1024 ** 2, gracePeriod: '0s', met: false },
                { kind: 'soft', value: 3.5 * 1024 ** 3, gracePeriod: '1m30s', met: true },
              ],
            },
            { signal: 'pid.available', unit: 'count', thresholds: [] },
          ],
        },
        resources: [
          resource('cpu', {
            capacity: '4',
            systemReserved: '500m',
            kubeReserved: '500m',
            allocatable: '3',
            requested: '1500m',
            limits: '2',
            free: '1500m',
          }),
          resource('memory', {
            capacity: '4Gi',
            evictionReserved: '100Mi',
            inHugePages: '16Mi',
            allocatable: '3980Mi',
            requested: '64Mi',
            free: '3916Mi',
          }),
          resource('hugepages-1Gi', {}),
          resource('hugepages-2Mi', { capacity: '16Mi', allocatable: '16Mi', free: '16Mi' }),
          resource('pods', { capacity: '110', allocatable: '110', requested: '2', free: '108' }),
        ],
        pods: {
          items: [
            pod('plain'),
            pod('web', {
              qosClass: 'Burstable',
              priority: 100,
              requests: { cpu: '1500m', memory: '64Mi', 'vendor.test/gpu': '1' },
              limits: { cpu: '2', 'vendor.test/gpu': '1' },
            }),
          ],
          omitted: 0,
        },
        holdings: {
          sharedCpus: '0-1',
          holders: {
            items: [
              {
                namespace: 'default',
                name: 'web',
                uid: 'u',
                container: 'app',
                cpus: '2-3',
                memory: [
                  { resource: 'memory', numaNodes: [0, 1], bytes: 1024 ** 3 },
                  { resource: 'hugepages-2Mi', numaNodes: [0], bytes: 4 * 1024 ** 2 },
                ],
                devices: [{ resource: 'vendor.test/gpu', ids: ['gpu-0', 'gpu-1'] }],
              },
              { namespace: '', name: '', uid: 'gone', container: '', cpus: '4' },
            ],
            omitted: 0,
          },
        },
      },
      options,
    );
    expect(text).toBe(`Node:        n1
Kubelet:     v1.37.1
Runtime:     containerd://2.1.0
System:      Debian, 6.1, amd64
Addresses:   10.0.0.7 (InternalIP)
Labels:      disk=ssd
             zone=a
Taints:      k=v:NoSchedule

Conditions:
CONDITION   STATUS   SINCE   REASON         MESSAGE
Ready       True     5m      KubeletReady   ready

Pressure:
SIGNAL             AVAILABLE   OF        THRESHOLDS
memory.available   3.0GiB      4.0GiB    hard 100MiB; soft 3.5GiB for 1m30s, MET
pid.available      unknown     unknown   

Resources (SYSTEM, KUBE and EVICTION are reserved; pods share ALLOCATABLE):
RESOURCE        CAPACITY   SYSTEM   KUBE   EVICTION   HUGE PAGES   ALLOCATABLE   REQUESTED     LIMITS    FREE
cpu             4          500m     500m   0          0            3             1500m (50%)   2 (67%)   1500m
memory          4Gi        0        0      100Mi      16Mi         3.9Gi         64Mi (2%)     0         3.8Gi
hugepages-2Mi   16Mi       0        0      0          0            16Mi          0             0         16Mi
pods            110        0        0      0          0            110           2 (2%)        0         108

Pods (requests / limits):
POD             QOS          PRIORITY   CPU         MEMORY     EPHEMERAL-STORAGE   OTHERS
default/plain   BestEffort   0          - / -       - / -      - / -               -
default/web     Burstable    100        1500m / 2   64Mi / -   - / -               vendor.test/gpu 1 / 1

Held by one container alone:
POD           CONTAINER   CPUS   MEMORY                                               DEVICES
default/web   app         2-3    1.0GiB of NUMA 0,1; hugepages-2Mi 4.0MiB of NUMA 0   vendor.test/gpu: gpu-0 gpu-1
gone          (the pod)   4      -                                                    -
CPUs that all other containers share: 0-1
`);
  });

  it('says what is not known or not there', () => {
    const text = nodeText(bare, options);
    for (const line of [
      'Labels:      none',
      'Conditions: not known yet',
      'No signal is watched.',
      'Resources: not known yet',
      'Pods: none',
      'Held by one container alone: nothing',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toContain('share: ');
  });

  it('says why nothing is evicted, and why nothing can be read', () => {
    const pressure = { off: 'nobody asked', problem: 'no statistics', signals: [] };
    expect(nodeText({ ...bare, pressure }, options)).toContain(
      'Pressure:\nThis node evicts no pods: nobody asked.\nThe signals cannot be read now: no statistics.\n',
    );
  });

  it('shows the first lines of a long list and how many more there are', () => {
    const items = Array.from({ length: 25 }, (_, at) => pod(`p${at}`));
    expect(nodeText({ ...bare, pods: { items, omitted: 3 } }, options)).toContain(
      '\n… and 8 more; --all shows more\n',
    );
  });

  it('names hostile pods, labels and devices without moving the cursor', () => {
    const hostile = 'a\u001b[2Jb\nc\u009b';
    const text = nodeText(
      {
        ...bare,
        name: hostile,
        labels: { [hostile]: hostile },
        taints: [{ key: hostile, effect: hostile }],
        conditions: [{ type: hostile, status: 'True', message: hostile }],
        resources: [resource(hostile, { requested: '1' })],
        pods: { items: [pod(hostile, { requests: { [hostile]: '1' } })], omitted: 0 },
        holdings: {
          sharedCpus: hostile,
          holders: {
            items: [
              {
                ...pod(hostile),
                container: hostile,
                devices: [{ resource: hostile, ids: [hostile] }],
              },
            ],
            omitted: 0,
          },
        },
      },
      options,
    );
    expect(text).toContain('default/a [2Jb c');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});
