import { expect, it } from 'vitest';
import { Timeline } from '../../timeline/index.js';
import { PodCidr } from './pod-cidr.js';

it('passes new CIDRs to the runtime until it accepts them; ignores removed ones', async () => {
  const told: unknown[] = [];
  let fails = true;
  const podCidr = new PodCidr({
    timeline: new Timeline(),
    runtime: {
      updateRuntimeConfig: async ({ runtimeConfig }) => {
        told.push(runtimeConfig?.networkConfig?.podCidr);
        if (fails) throw new Error('not now');
        return {};
      },
    },
  });
  const both = { spec: { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } };
  expect(await podCidr.follow({})).toBe(false);
  expect(await podCidr.follow(both)).toBe(true);
  expect(podCidr.current).toBe('');
  fails = false;
  expect(await podCidr.follow(both)).toBe(true);
  expect(await podCidr.follow(both)).toBe(false);
  expect(await podCidr.follow({ spec: {} })).toBe(false);
  expect(told).toEqual(['10.0.0.0/24,fd00::/64', '10.0.0.0/24,fd00::/64']);
});
