/** The ownership walk on a simulated machine. */
import { describe, expect, it } from 'vitest';
import { Cancelled, VirtualClock } from '../../async/index.js';
import { type HostError, type SimulatedHost, simulatedHost } from '../../host/index.js';
import { setVolumeOwnership, type VolumeOwnership } from './index.js';

const directory = '/var/pods/uid-1/volumes/v';

async function furnished(): Promise<SimulatedHost> {
  const host = simulatedHost();
  const { files } = host;
  await files.mkdir(`${directory}/sub/deep`, { recursive: true });
  await files.writeFile(`${directory}/file`, '', { mode: 0o600 });
  await files.writeFile(`${directory}/sub/deep/file`, '', { mode: 0o600 });
  await files.writeFile('/etc/outside', '', { mode: 0o600 });
  await files.symlink('/etc/outside', `${directory}/sub/link`);
  await files.symlink('nowhere', `${directory}/dangling`);
  return host;
}

function give(host: SimulatedHost, options: Partial<VolumeOwnership> = {}) {
  const clock = new VirtualClock();
  return setVolumeOwnership({
    host,
    clock,
    directory,
    podUid: 'uid-1',
    fsGroup: 123,
    readOnly: false,
    ...options,
  });
}

describe('setVolumeOwnership', () => {
  it('gives every entry to the group, but not the targets of links', async () => {
    const host = await furnished();
    expect(await give(host)).toEqual({ walked: true, entries: 7 });
    const facts = (path: string) => host.files.lstat(path);
    expect(await facts(directory)).toMatchObject({ mode: 0o2775, uid: 0, gid: 123 });
    expect(await facts(`${directory}/sub/deep`)).toMatchObject({ mode: 0o2775, gid: 123 });
    expect(await facts(`${directory}/file`)).toMatchObject({ mode: 0o660, gid: 123 });
    expect(await facts(`${directory}/sub/deep/file`)).toMatchObject({ mode: 0o660, gid: 123 });
    expect(await facts(`${directory}/sub/link`)).toMatchObject({ mode: 0o777, gid: 123 });
    expect(await facts(`${directory}/dangling`)).toMatchObject({ gid: 123 });
    expect(await facts('/etc/outside')).toMatchObject({ mode: 0o600, gid: 0 });
    expect(host.machine.heldPaths).toBe(0);
  });

  it('changes the root last', async () => {
    const host = await furnished();
    const before = host.calls.length;
    await give(host);
    const paths = host.calls.slice(before).map(({ path }) => path);
    expect(paths.indexOf(directory)).toBe(paths.length - 2);
  });

  it('leaves matching entries alone', async () => {
    const host = await furnished();
    await give(host);
    const before = host.calls.length;
    expect(await give(host)).toEqual({ walked: true, entries: 7 });
    expect(host.calls.slice(before).map(({ operation }) => operation)).toEqual(['lchown', 'lchown']);
  });

  it('changes nothing without a group', async () => {
    const host = await furnished();
    const before = host.calls.length;
    expect(await give(host, { fsGroup: undefined })).toEqual({ walked: false, entries: 0 });
    expect(host.calls).toHaveLength(before);
  });

  it('checks only the root under OnRootMismatch', async () => {
    const host = await furnished();
    await host.files.lchown(directory, -1, 123);
    await host.files.chmod(directory, 0o2750);
    expect(await give(host, { changePolicy: 'OnRootMismatch' })).toMatchObject({ walked: true });
    await host.files.chmod(`${directory}/file`, 0o600);
    expect(await give(host, { changePolicy: 'OnRootMismatch' })).toMatchObject({ walked: false });
    expect(await give(host)).toMatchObject({ walked: true });
    expect((await host.files.lstat(`${directory}/file`)).mode).toBe(0o660);
  });

  it('ignores failed changes, but not failed listings', async () => {
    const host = await furnished();
    const ignored: HostError[] = [];
    host.inject({
      at: ({ operation }) => operation === 'chmod' || operation === 'lchown',
      when: 'before',
      effect: { kind: 'fail', code: 'EPERM' },
    });
    expect(await give(host, { onIgnored: (error) => ignored.push(error) })).toMatchObject({ entries: 7 });
    expect(ignored).toHaveLength(12);
    host.inject({
      at: ({ operation }) => operation === 'readdir',
      when: 'before',
      effect: { kind: 'fail', code: 'EIO' },
    });
    await expect(give(host)).rejects.toMatchObject({ code: 'EIO' });
    expect(host.machine.heldPaths).toBe(0);
  });

  it('changes nothing outside if an entry is swapped for a link', async () => {
    const host = await furnished();
    const other = simulatedHost({ machine: host.machine });
    // At each call in turn, someone replaces the file with a link.
    for (let step = 0; step < 40; step++) {
      let calls = 0;
      host.inject({
        at: () => calls++ === step,
        when: 'before',
        effect: {
          kind: 'run',
          action: async () => {
            await other.files.unlink(`${directory}/file`).catch(() => {});
            await other.files.symlink('/etc/outside', `${directory}/file`).catch(() => {});
          },
        },
      });
      await give(host);
      expect(await other.files.stat('/etc/outside')).toMatchObject({ mode: 0o600, gid: 0 });
      await other.files.unlink(`${directory}/file`);
      await other.files.writeFile(`${directory}/file`, '', { mode: 0o600 });
    }
  });

  it('reports progress when it takes long', async () => {
    const host = await furnished();
    const clock = new VirtualClock();
    const texts: string[] = [];
    host.inject({
      at: ({ operation, path }) => operation === 'lchown' && path === directory,
      when: 'before',
      effect: { kind: 'run', action: async () => await clock.advance(160_000) },
    });
    await give(host, { clock, onProgress: (text) => texts.push(text) });
    expect(texts).toEqual([
      expect.stringMatching(/^Setting volume ownership for uid-1\/volumes\/v is taking longer than expected/),
      'Setting volume ownership for uid-1/volumes/v, processed 7 files.',
      'Setting volume ownership for uid-1/volumes/v, processed 7 files.',
    ]);
    await clock.advance(600_000);
    expect(texts).toHaveLength(3);
  });

  it('ends when cancelled', async () => {
    const host = await furnished();
    await expect(give(host, { signal: AbortSignal.abort() })).rejects.toThrow(Cancelled);
    expect(host.machine.heldPaths).toBe(0);
  });
});
