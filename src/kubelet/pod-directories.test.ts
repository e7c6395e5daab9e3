import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../host/index.js';
import { makePodDirectories, makeRootDirectories } from './pod-directories.js';

const modeOf = async ({ files }: ReturnType<typeof simulatedHost>, path: string): Promise<string> =>
  (await files.stat(path)).mode.toString(8);

describe('folders', () => {
  it('of the agent are for their owner and group', async () => {
    const host = simulatedHost();
    await makeRootDirectories(host.files, '/root');
    for (const name of ['', 'pods', 'plugins', 'plugins_registry', 'pod-resources']) {
      expect(await modeOf(host, `/root/${name}`)).toBe('750');
    }
    expect(await modeOf(host, '/root/checkpoints')).toBe('700');
  });
  it('of pods are made as often as asked', async () => {
    const host = simulatedHost();
    await makePodDirectories(host.files, '/root', 'u');
    await makePodDirectories(host.files, '/root', 'u');
    for (const name of ['', 'volumes', 'plugins'])
      expect(await modeOf(host, `/root/pods/u/${name}`)).toBe('750');
  });
  it.each(['', '.', '..', 'a/b', '../x'])('are not made for a pod with the UID "%s"', async (uid) => {
    await expect(makePodDirectories(simulatedHost().files, '/root', uid)).rejects.toThrow('cannot name');
  });
});
