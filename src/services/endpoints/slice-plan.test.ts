import { describe, expect, it } from 'vitest';
import type { EndpointSlice, Pod, Service } from '../../kube/types/index.js';
import { type TestPodOptions, testPod, testService } from '../test-objects.js';
import { overCapacityAnnotation, planEndpoints } from './endpoints-plan.js';
import { podEndpoints } from './pod-endpoint.js';
import { planSlices } from './slice-plan.js';

const web = testService('web');

describe('a pod of a Service', () => {
  const conditions = (ready: boolean, serving: boolean, terminating: boolean): string =>
    [ready && 'ready', serving && 'serving', terminating && 'terminating'].filter(Boolean).join(' ');
  const shownEndpoints = (service: Service, pod: Pod): string[] =>
    podEndpoints(service, pod).map(({ endpoint }) => {
      const { ready = false, serving = false, terminating = false } = endpoint.conditions ?? {};
      return `${endpoint.addresses[0]}: ${conditions(ready, serving, terminating)}`;
    });

  it.each<[string, Service, TestPodOptions, string[]]>([
    ['is ready', web, { ip: '10.1.0.1' }, ['10.1.0.1: ready serving']],
    ['is not ready', web, { ip: '10.1.0.1', ready: false }, ['10.1.0.1: ']],
    ['serves while it ends', web, { ip: '10.1.0.1', terminating: true }, ['10.1.0.1: serving terminating']],
    [
      'ends and does not serve',
      web,
      { ip: '10.1.0.1', ready: false, terminating: true },
      ['10.1.0.1: terminating'],
    ],
    ['has ended', web, { ip: '10.1.0.1', phase: 'Succeeded' }, []],
    ['has failed', web, { ip: '10.1.0.1', phase: 'Failed' }, []],
    ['has no address yet', web, {}, []],
    ['has other labels', web, { ip: '10.1.0.1', labels: { app: 'db' } }, []],
    ['is of another namespace', web, { ip: '10.1.0.1', namespace: 'other' }, []],
    [
      'is published although it is not ready',
      testService('web', { publishNotReadyAddresses: true }),
      { ip: '10.1.0.1', ready: false },
      ['10.1.0.1: ready'],
    ],
    ['has no address of the family', web, { ip: 'fd00::1' }, []],
    [
      'has addresses of both families',
      testService('web', { ipFamilies: ['IPv6', 'IPv4'] }),
      { ips: ['10.1.0.1', 'fd00::1'] },
      ['fd00::1: ready serving', '10.1.0.1: ready serving'],
    ],
    ['is of a Service without a selector', testService('web', { selector: {} }), { ip: '10.1.0.1' }, []],
  ])('%s', (_, service, options, expected) => {
    expect(shownEndpoints(service, testPod('a', options))).toEqual(expected);
  });

  it('has the ports that its containers name, and not those that it lacks', () => {
    const service = testService('web', {
      ports: [
        { name: 'http', port: 80, targetPort: 'http' },
        { name: 'dns', port: 53, targetPort: 'http', protocol: 'UDP' },
        { name: 'admin', port: 9000, targetPort: 9001, appProtocol: 'h2c' },
        { name: 'same', port: 7000 },
        { name: 'none', port: 1, targetPort: 'missing' },
        { name: 'sidecar', port: 2, targetPort: 'mesh' },
      ],
    });
    const pod = testPod('a', {
      ip: '10.1.0.1',
      spec: {
        containers: [{ name: 'main', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }],
        initContainers: [
          {
            name: 'mesh',
            image: 'i',
            restartPolicy: 'Always',
            ports: [{ name: 'mesh', containerPort: 15_000 }],
          },
          { name: 'init', image: 'i', ports: [{ name: 'missing', containerPort: 1 }] },
        ],
      },
    });
    expect(podEndpoints(service, pod)[0]?.ports).toEqual([
      { name: 'http', protocol: 'TCP', port: 8080 },
      { name: 'admin', protocol: 'TCP', port: 9001, appProtocol: 'h2c' },
      { name: 'same', protocol: 'TCP', port: 7000 },
      { name: 'sidecar', protocol: 'TCP', port: 15_000 },
    ]);
  });

  it.each([
    ['its subdomain names the Service', { hostname: 'db-0', subdomain: 'web' }, 'db-0'],
    ['another Service', { hostname: 'db-0', subdomain: 'db' }, undefined],
    ['no subdomain', { hostname: 'db-0' }, undefined],
    ['no hostname', { subdomain: 'web' }, undefined],
  ])('has a name of its own: %s', (_, spec, hostname) => {
    const [found] = podEndpoints(web, testPod('a', { ip: '10.1.0.1', spec: { containers: [], ...spec } }));
    expect(found?.endpoint.hostname).toBe(hostname);
  });
});

/** The slices after the actions, as a server would have them. */
function applied(slices: readonly EndpointSlice[], actions: ReturnType<typeof planSlices>): EndpointSlice[] {
  const after = new Map(slices.map((slice) => [slice.metadata.name, slice]));
  for (const action of actions) {
    if (action.do === 'delete') after.delete(action.name);
    else after.set(action.slice.metadata.name, action.slice);
  }
  return [...after.values()];
}

const addressesOf = (slices: readonly EndpointSlice[]): string[] =>
  slices.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses)).toSorted();

describe('the slices of a Service', () => {
  const manyPods = (count: number): Pod[] =>
    Array.from({ length: count }, (_, index) =>
      testPod(`p${index}`, { ip: `10.1.${index >> 8}.${index & 255}` }),
    );

  it('a Service without pods has one empty slice with its labels', () => {
    const service: Service = {
      ...testService('web', { clusterIP: 'None' }),
      metadata: { namespace: 'shop', name: 'web', uid: 'u', labels: { tier: 'front' } },
    };
    const [only, ...others] = applied([], planSlices(service, [], []));
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      addressType: 'IPv4',
      endpoints: [],
      metadata: {
        labels: {
          tier: 'front',
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          'service.kubernetes.io/headless': '',
        },
        ownerReferences: [{ kind: 'Service', name: 'web', uid: 'u', controller: true }],
      },
    });
  });

  it('holds 100 endpoints a slice, and each pod once', () => {
    const pods = manyPods(250);
    const slices = applied([], planSlices(web, pods, []));
    expect(slices.map(({ endpoints }) => endpoints.length)).toEqual([100, 100, 50]);
    expect(new Set(addressesOf(slices)).size).toBe(250);
    expect(planSlices(web, pods, slices)).toEqual([]);
  });

  it('changes one slice for one pod, and deletes slices that are not needed', () => {
    const pods = manyPods(250);
    const slices = applied([], planSlices(web, pods, []));
    const unready = pods.map((pod, index) =>
      index === 130 ? testPod('p130', { ip: '10.1.0.130', ready: false }) : pod,
    );
    const actions = planSlices(web, unready, slices);
    expect(actions.map((action) => action.do)).toEqual(['update']);
    const fewer = planSlices(web, pods.slice(0, 20), slices);
    expect(fewer.filter((action) => action.do === 'delete')).toHaveLength(2);
    expect(addressesOf(applied(slices, fewer))).toEqual(
      addressesOf(applied([], planSlices(web, pods.slice(0, 20), []))),
    );
  });

  it('any row of changes ends with the endpoints of the pods, none twice, none over 100', () => {
    let slices: EndpointSlice[] = [];
    let seed = 3;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    for (let round = 0; round < 40; round++) {
      const pods = manyPods(320).filter(() => random(3) > 0);
      slices = applied(slices, planSlices(web, pods, slices));
      expect(addressesOf(slices)).toEqual(pods.map(({ status }) => status!.podIP).toSorted());
      expect(Math.max(...slices.map(({ endpoints }) => endpoints.length))).toBeLessThanOrEqual(100);
      expect(planSlices(web, pods, slices)).toEqual([]);
    }
  });

  it('pods with different numbers behind a named port have slices of their own', () => {
    const service = testService('web', { ports: [{ port: 80, targetPort: 'http' }] });
    const pod = (name: string, ip: string, containerPort: number): Pod =>
      testPod(name, {
        ip,
        spec: { containers: [{ name: 'm', image: 'i', ports: [{ name: 'http', containerPort }] }] },
      });
    const slices = applied(
      [],
      planSlices(service, [pod('a', '10.1.0.1', 8080), pod('b', '10.1.0.2', 9090)], []),
    );
    expect(slices.map(({ ports, endpoints }) => [ports?.[0]?.port, endpoints[0]?.addresses[0]])).toEqual([
      [8080, '10.1.0.1'],
      [9090, '10.1.0.2'],
    ]);
  });

  it.each<[string, Service]>([
    ['is deleted', { ...web, metadata: { ...web.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }],
    ['names something outside', testService('web', { type: 'ExternalName', externalName: 'example.com' })],
    ['has lost its selector', testService('web', { selector: {} })],
  ])('a Service that %s keeps none', (_, service) => {
    const slices = applied([], planSlices(web, manyPods(3), []));
    expect(applied(slices, planSlices(service, manyPods(3), slices))).toEqual([]);
  });
});

describe('the Endpoints object', () => {
  it('has ready and other addresses, without pods that end', () => {
    const pods = [
      testPod('a', { ip: '10.1.0.1' }),
      testPod('b', { ip: '10.1.0.2', ready: false }),
      testPod('c', { ip: '10.1.0.3', terminating: true }),
    ];
    const action = planEndpoints(web, pods, undefined);
    expect(action).toMatchObject({
      do: 'create',
      endpoints: {
        subsets: [
          {
            addresses: [{ ip: '10.1.0.1', nodeName: 'node', targetRef: { kind: 'Pod', name: 'a' } }],
            notReadyAddresses: [{ ip: '10.1.0.2' }],
            ports: [{ name: '', protocol: 'TCP', port: 80 }],
          },
        ],
      },
    });
    if (action.do !== 'create') throw new Error('not created');
    const present = { ...action.endpoints };
    expect(planEndpoints(web, pods, present).do).toBe('nothing');
    expect(planEndpoints(web, [], present)).toMatchObject({ do: 'update', endpoints: { subsets: [] } });
    expect(planEndpoints(undefined, [], present)).toEqual({ do: 'delete', name: 'web' });
  });

  it('leaves objects alone that somebody else writes', () => {
    const theirs = {
      metadata: { name: 'web', namespace: 'shop' },
      subsets: [{ addresses: [{ ip: '192.0.2.1' }] }],
    };
    expect(planEndpoints(testService('web', { selector: {} }), [], theirs).do).toBe('nothing');
    expect(planEndpoints(undefined, [], theirs).do).toBe('nothing');
  });

  it('is cut at 1,000 addresses and says so', () => {
    const pods = Array.from({ length: 1003 }, (_, index) =>
      testPod(`p${index}`, { ip: `10.1.${index >> 8}.${index & 255}` }),
    );
    const action = planEndpoints(web, pods, undefined);
    if (action.do !== 'create') throw new Error('not created');
    expect(action.endpoints.subsets?.[0]?.addresses).toHaveLength(1000);
    expect(action.endpoints.metadata.annotations).toEqual({ [overCapacityAnnotation]: 'truncated' });
  });
});
