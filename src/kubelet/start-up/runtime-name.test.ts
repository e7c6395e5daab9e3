import { expect, it } from 'vitest';
import { RuntimeName } from './runtime-name.js';

it('is unknown until the runtime has told it, also after it failed to', async () => {
  const answers = [
    Promise.reject(new Error('down')),
    Promise.resolve({ runtimeName: 'containerd', runtimeVersion: '2.1' }),
  ];
  const name = new RuntimeName(async () => (await answers.shift()) ?? expect.fail('asked too often'));
  expect(name.current).toBe('unknown');
  await expect(name.read()).rejects.toThrow('down');
  expect(name.current).toBe('unknown');
  await name.read();
  expect([name.current, name.version]).toEqual(['containerd', '2.1']);
});
