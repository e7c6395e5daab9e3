import { beforeEach, describe, expect, it } from 'vitest';
import type { VirtualClock } from '../../async/index.js';
import { type Resource, resources } from '../../kube-client/resources.js';
import { kubeApiLimits } from '../limits.js';
import type { ServedApi } from '../server.js';
import { change, createIn, refusalOf, testApi, written } from './kinds-test-api.js';

let api: ServedApi;
let clock: VirtualClock;
beforeEach(async () => {
  ({ api, clock } = await testApi());
});
const named = (rest: object, metadata: object = {}): object => ({
  metadata: { name: 'x', ...metadata },
  ...rest,
});
const revision = { revision: 1, data: { a: 1 } };

describe('refused', () => {
  it.each<[string, Resource, object, string]>([
    [
      'a taint without an effect',
      resources.nodes,
      named({ spec: { taints: [{ key: 'a' }] } }),
      'spec.taints[0].effect: Required value',
    ],
    [
      'a lease for no time',
      resources.leases,
      named({ spec: { leaseDurationSeconds: 0 } }),
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    ],
    ['a runtime class without a handler', resources.runtimeClasses, named({}), 'handler: Required value'],
    ['a class of storage of nobody', resources.storageClasses, named({}), 'provisioner: Required value'],
    [
      'a slice without a family',
      resources.endpointSlices,
      named({ endpoints: [] }),
      'addressType: Required value',
    ],
    [
      'endpoints without addresses',
      resources.endpoints,
      named({ subsets: [{}] }),
      'must specify `addresses` or `notReadyAddresses`',
    ],
    [
      'a revision without data',
      resources.controllerRevisions,
      named({ revision: 1 }),
      'data: Required value',
    ],
    [
      'an event of another namespace',
      resources.events,
      named({ involvedObject: { namespace: 'other' } }),
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ],
    [
      'a driver twice',
      resources.csiNodes,
      named({
        spec: {
          drivers: [
            { name: 'a', nodeID: 'n' },
            { name: 'a', nodeID: 'n' },
          ],
        },
      }),
      'spec.drivers[1].name: Duplicate value: "a"',
    ],
    [
      'an attachment of nothing',
      resources.volumeAttachments,
      named({ spec: { attacher: 'a', nodeName: 'n', source: {} } }),
      'spec.source: Required value',
    ],
    [
      'a high priority',
      resources.priorityClasses,
      named({ value: 1_000_000_001 }),
      'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
    ],
    [
      'a priority of the system',
      resources.priorityClasses,
      { metadata: { name: 'system-mine' }, value: 1 },
      "priority class names with 'system-' prefix are reserved for system use only",
    ],
    [
      'a namespace of what has none',
      resources.nodes,
      named({}, { namespace: 'shop' }),
      '400 the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'a name with capitals',
      resources.nodes,
      { metadata: { name: 'X' } },
      'metadata.name: Invalid value: "X"',
    ],
    [
      'too many annotations',
      resources.leases,
      named({}, { annotations: { a: 'x'.repeat(256 * 1024) } }),
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ],
    [
      'an object that is too large',
      resources.controllerRevisions,
      named({ revision: 1, data: 'x'.repeat(kubeApiLimits.objectBytes) }),
      '413 Request entity too large: limit is 1572864',
    ],
  ])('%s', async (_rule, resource, object, why) => {
    expect(await refusalOf(createIn(api, resource, object))).toContain(why);
  });
});

it.each<[string, Resource, object, object, string]>([
  [
    'the handler of a runtime',
    resources.runtimeClasses,
    named({ handler: 'a' }),
    { handler: 'b' },
    'handler: Invalid value: "b": field is immutable',
  ],
  [
    'parameters of storage',
    resources.storageClasses,
    named({ provisioner: 'a' }),
    { parameters: { a: 'b' } },
    'parameters: Forbidden: updates to parameters are forbidden.',
  ],
  [
    'a priority',
    resources.priorityClasses,
    named({ value: 1 }),
    { value: 2 },
    'value: Forbidden: may not be changed in an update.',
  ],
  [
    'a revision',
    resources.controllerRevisions,
    named(revision),
    { data: { a: 2 } },
    'data: Invalid value: {"a":2}: field is immutable',
  ],
  [
    'what a deleted object waits for',
    resources.leases,
    named({}, { finalizers: ['a.b/c'] }),
    { metadata: { finalizers: ['a.b/c', 'd.e/f'] } },
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted',
  ],
])('a change of %s is refused', async (_rule, resource, object, patch, why) => {
  await createIn(api, resource, object);
  const ref = resource.namespaced ? { namespace: 'shop', name: 'x' } : { name: 'x' };
  if (resource === resources.leases) await api.delete(resource, ref);
  expect(await refusalOf(change(api, resource, 'x', patch))).toContain(why);
});

it('only the end of a namespace changes what it waits for', async () => {
  const plain = await change(api, resources.namespaces, 'shop', { spec: { finalizers: [] } });
  expect(plain.spec?.finalizers).toEqual(['kubernetes']);
  const ended = await change(api, resources.namespaces, 'shop', { spec: { finalizers: [] } }, 'finalize');
  expect(ended.spec?.finalizers).toEqual([]);
});

it('a node is registered with its status', async () => {
  const node = await createIn(api, resources.nodes, named({ status: { capacity: { cpu: '2' } } }));
  expect(node.status?.capacity).toEqual({ cpu: '2' });
});

describe('events', () => {
  const event = (name: string) => written({ metadata: { name }, involvedObject: { namespace: 'shop' } });
  const count = (): number => api.list(resources.events).items.length;
  it('are forgotten after an hour', async () => {
    await api.create(resources.events, event('old'), 'shop');
    await clock.advance(kubeApiLimits.eventLifeMs - 1000);
    await api.create(resources.events, event('new'), 'shop');
    expect(count()).toBe(2);
    await clock.advance(kubeApiLimits.eventSweepMs + 2000);
    expect(api.list(resources.events).items.map(({ metadata }) => metadata.name)).toEqual(['new']);
  });
  it('are bounded, and the oldest go first', async () => {
    await api.create(resources.events, event('oldest'), 'shop');
    await clock.advance(1000);
    for (let n = 0; n < kubeApiLimits.keptEvents; n++)
      await api.create(resources.events, event(`e${n}`), 'shop');
    expect(count()).toBe(kubeApiLimits.keptEvents - kubeApiLimits.keptEvents / 10);
    expect(
      await refusalOf(
        Promise.resolve().then(() => api.get(resources.events, { namespace: 'shop', name: 'oldest' })),
      ),
    ).toContain('404');
  });
});
