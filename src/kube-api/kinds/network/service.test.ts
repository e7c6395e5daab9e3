import { beforeEach, describe, expect, it } from 'vitest';
import type { Service, ServiceSpec } from '../../../kube/types/index.js';
import { resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { change, createIn, refusalOf, testApi } from '../kinds-test-api.js';
import type { ServiceAllocator } from './service-allocator.js';

/** Counts addresses up from 10.0.0.1 and node ports from 30000; knows what is stored. */
class CountingAllocator implements ServiceAllocator {
  #taken = new Set<string>();

  rebuild(services: readonly Service[]): void {
    this.#taken = new Set(services.map(({ spec }) => spec?.clusterIP ?? ''));
  }

  update(before: Service | undefined, { spec = {} }: Service): ReturnType<ServiceAllocator['update']> {
    if (spec.type === 'ExternalName') return { ok: true, assigned: {} };
    const wanted = spec.clusterIP || this.#free();
    if (wanted !== 'None' && wanted !== before?.spec?.clusterIP && this.#taken.has(wanted))
      return { ok: false, problem: { reason: 'Taken', field: 'spec.clusterIP', message: 'it is taken' } };
    const ports = (spec.ports ?? []).map((port, index) => ({
      ...port,
      nodePort: port.nodePort ?? 30_000 + index,
    }));
    const assigned = { clusterIP: wanted, clusterIPs: [wanted] };
    return { ok: true, assigned: spec.type === 'ClusterIP' ? assigned : { ...assigned, ports } };
  }

  #free(): string {
    for (let last = 1; ; last++) if (!this.#taken.has(`10.0.0.${last}`)) return `10.0.0.${last}`;
  }
}

let api: ServedApi;
beforeEach(async () => {
  ({ api } = await testApi({ serviceAddresses: new CountingAllocator() }));
});
const http = { port: 80 };
const create = (spec: object, name = 'web'): Promise<Service> =>
  createIn(api, resources.services, { metadata: { name }, spec });

describe('a new Service', () => {
  it('gets an address and its defaults', async () => {
    expect(await create({ ports: [http], selector: { app: 'web' } })).toMatchObject({
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.1',
        clusterIPs: ['10.0.0.1'],
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
      },
      status: { loadBalancer: {} },
    });
    expect((await create({ ports: [http] }, 'other')).spec?.clusterIP).toBe('10.0.0.2');
  });
  it.each<[string, object, object]>([
    ['headless', { clusterIP: 'None' }, { clusterIP: 'None', clusterIPs: ['None'] }],
    [
      'on ports of the node',
      { type: 'NodePort', ports: [http] },
      { ports: [{ nodePort: 30_000 }], externalTrafficPolicy: 'Cluster' },
    ],
    [
      'for a balancer that is not there',
      { type: 'LoadBalancer', ports: [http] },
      { allocateLoadBalancerNodePorts: true, ports: [{ nodePort: 30_000 }] },
    ],
    [
      'with sticky clients',
      { ports: [http], sessionAffinity: 'ClientIP' },
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } },
    ],
    [
      'that names another host',
      { type: 'ExternalName', externalName: 'example.com' },
      { externalName: 'example.com' },
    ],
  ])('%s', async (_rule, spec, expected) => {
    expect((await create(spec)).spec).toMatchObject(expected);
  });
  it('takes nothing when it is only tried', async () => {
    const tried = { metadata: { name: 'tried' }, spec: { ports: [http] } };
    await api.create(resources.services, tried, 'shop', { dryRun: true });
    expect((await create({ ports: [http] })).spec?.clusterIP).toBe('10.0.0.1');
  });
  it.each<[string, ServiceSpec | object, string]>([
    ['without ports', {}, 'spec.ports: Required value'],
    ['of an unknown type', { type: 'Mesh', ports: [http] }, 'spec.type: Unsupported value: "Mesh"'],
    [
      'with a port beyond all',
      { ports: [{ port: 70_000 }] },
      'spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    ['with nameless ports', { ports: [http, { port: 81 }] }, 'spec.ports[0].name: Required value'],
    [
      'with one port twice',
      {
        ports: [
          { ...http, name: 'a' },
          { ...http, name: 'b' },
        ],
      },
      'spec.ports[1]: Duplicate value',
    ],
    [
      'with a protocol of its own',
      { ports: [{ ...http, protocol: 'QUIC' }] },
      'spec.ports[0].protocol: Unsupported value: "QUIC"',
    ],
    [
      'with a node port it may not have',
      { ports: [{ ...http, nodePort: 30_001 }] },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      'headless on ports of the node',
      { type: 'NodePort', clusterIP: 'None', ports: [http] },
      'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
    ],
    [
      'of two families',
      { ports: [http], ipFamilyPolicy: 'RequireDualStack' },
      'this cluster is not configured for dual-stack services',
    ],
    [
      'of the other family',
      { ports: [http], ipFamilies: ['IPv6'] },
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    ['that names no host', { type: 'ExternalName' }, 'spec.externalName: Required value'],
    [
      'with the address of another',
      { ports: [http], clusterIP: '10.0.0.9' },
      'spec.clusterIP: Invalid value: "10.0.0.9": it is taken',
    ],
    [
      'with ports that are no list',
      { ports: 7 },
      '400 Service in version "v1" cannot be handled as a Service',
    ],
  ])('%s is refused', async (_rule, spec, why) => {
    await create({ ports: [http], clusterIP: '10.0.0.9' }, 'first');
    expect(await refusalOf(create(spec))).toContain(why);
  });
});

describe('a change', () => {
  it('keeps the address', async () => {
    await create({ ports: [http] });
    const given = { metadata: { name: 'web', namespace: 'shop' }, spec: { ports: [{ port: 81 }] } };
    expect((await api.update(resources.services, given)).spec).toMatchObject({
      clusterIP: '10.0.0.1',
      ports: [{ port: 81 }],
    });
  });
  it('of the address is refused', async () => {
    await create({ ports: [http] });
    const patch = { spec: { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] } };
    expect(await refusalOf(change(api, resources.services, 'web', patch))).toContain(
      'spec.clusterIPs[0]: Invalid value: ["10.0.0.7"]: may not change once set',
    );
  });
  it('of the type takes along what goes with it', async () => {
    await create({ type: 'NodePort', ports: [http] });
    const inside = await change(api, resources.services, 'web', { spec: { type: 'ClusterIP' } });
    expect(inside.spec?.ports).toEqual([{ port: 80, targetPort: 80, protocol: 'TCP' }]);
    const outside = await change(api, resources.services, 'web', {
      spec: { type: 'ExternalName', externalName: 'example.com' },
    });
    expect(outside.spec).not.toHaveProperty('clusterIP');
  });
});
