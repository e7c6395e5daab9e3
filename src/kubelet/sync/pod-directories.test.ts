import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { makeRootDirectories, PodDirectories } from './pod-directories.js';

const modeOf = async ({ files }: ReturnType<typeof simulatedHost>, path: string): Promise<string> =>
  (await files.stat(path)).mode.toString(8);

describe('directories', () => {
  it('of the agent are for their owner and group', async () => {
    const host = simulatedHost();
    await makeRootDirectories(host.files, '/root');
    for (const name of ['', 'pods', 'plugins', 'plugins_registry', 'pod-resources']) {
      expect(await modeOf(host, `/root/${name}`)).toBe('750');
    }
    expect(await modeOf(host, '/root/checkpoints')).toBe('700');
  });
  it('of pods are made once, and again after they were removed', async () => {
    const host = simulatedHost();
    const dirs = new PodDirectories(host.files, '/root');
    await dirs.make('u');
    const calls = host.calls.length;
    await dirs.make('u');
    expect(host.calls.length).toBe(calls);
    for (const name of ['volumes', 'plugins', ''])
      expect(await modeOf(host, `/root/pods/u/${name}`)).toBe('750');
    for (const name of ['volumes', 'plugins', '']) await host.files.rmdir(`/root/pods/u/${name}`);
    dirs.keepOnly(new Set(['other']));
    await dirs.make('u');
    expect(await modeOf(host, '/root/pods/u/volumes')).toBe('750');
  });
  it.each(['', '.', '..', 'a/b', '../x'])('are not made for a pod with the UID "%s"', async (uid) => {
    await expect(new PodDirectories(simulatedHost().files, '/root').make(uid)).rejects.toThrow('cannot name');
  });
});
