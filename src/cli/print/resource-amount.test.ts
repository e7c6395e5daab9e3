import { expect, it } from 'vitest';
import { amountOf, amountText } from './resource-amount.js';

it.each<[resource: string, quantity: string, text: string]>([
  ['cpu', '1500m', '1500m'],
  ['memory', '24684100Ki', '23.5Gi'],
  ['memory', '64Mi', '64Mi'],
  ['memory', '1000', '1000'],
  ['memory', '0', '0'],
  ['memory', '-100Mi', '-100Mi'],
  ['ephemeral-storage', '1G', '953.7Mi'],
  ['hugepages-2Mi', '4Mi', '4Mi'],
  ['vendor.test/gpu', '2', '2'],
])('%s %s is shown as %s', (resource, quantity, text) => {
  expect(amountText(resource, quantity)).toBe(text);
});

it('what is no quantity counts nothing', () => {
  expect(amountOf('much')).toBe(0);
});
