/** How the places of a container get into its config. */
import { expect, it } from 'vitest';
import type { ContainerPlacement } from '../contracts.js';
import { makePod } from '../test-fixtures.js';
import { placedBy } from './placed.js';

const pod = makePod();
const [container] = pod.spec.containers;

it('CPUs and memory of several managers come together, and each hears of its container', async () => {
  const told: unknown[] = [];
  const placement = (name: string, places: object): ContainerPlacement => ({
    places: async () => places,
    created: (_, { name: of }, id, given) => told.push([name, of, id, given]),
    stopped: (id) => told.push([name, 'stopped', id]),
  });
  const hooks = placedBy([placement('cpu', { cpus: '1,5' }), placement('memory', { mems: '0' })]);
  const config = { linux: { resources: { cpuShares: 2048 } } };
  expect(await hooks.preCreate(pod, container!, config)).toEqual({
    linux: { resources: { cpuShares: 2048, cpusetCpus: '1,5', cpusetMems: '0' } },
  });
  await hooks.preStart(pod, container!, 'id');
  await hooks.postStop('id');
  expect(told).toEqual([
    ['cpu', container!.name, 'id', { cpus: '1,5' }],
    ['memory', container!.name, 'id', { mems: '0' }],
    ['cpu', 'stopped', 'id'],
    ['memory', 'stopped', 'id'],
  ]);
});

it('a container that may run everywhere keeps its config', async () => {
  const hooks = placedBy([{ places: async () => ({ cpus: '' }) }]);
  const config = { linux: {} };
  expect(await hooks.preCreate(pod, container!, config)).toBe(config);
  await hooks.preStart(pod, container!, 'id');
});

it('additions of several managers come together; a failing one fails the container', async () => {
  const hooks = placedBy([
    { additions: async () => ({ cdiDevices: ['v.com/c=1'] }) },
    { places: async () => ({}) },
    { additions: async (_, { name }) => ({ envs: [{ name: 'OF', value: name }] }) },
  ]);
  expect(await hooks.additions?.(pod, container!)).toMatchObject({
    cdiDevices: ['v.com/c=1'],
    envs: [{ name: 'OF', value: container!.name }],
  });
  const failing = placedBy([{ additions: () => Promise.reject(new Error('no devices')) }]);
  await expect(failing.additions?.(pod, container!)).rejects.toThrow('no devices');
});
