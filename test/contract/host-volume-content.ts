/** Files of volumes on any machine: written atomically and given to a group, while somebody puts links in the way. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import type { Host, HostFiles } from '../../src/host/index.js';
import { type Payload, writeAtomically } from '../../src/volumes/atomic-writer.js';
import { setVolumeOwnership } from '../../src/volumes/ownership/index.js';
import { type HostUnderTest, textOf } from './host-contract.js';
import { interposed } from './host-interposed.js';

export function describeVolumeContent(name: string, create: () => Promise<HostUnderTest>): void {
  describe(`volume content: ${name}`, () => {
    let underTest: HostUnderTest;
    let root: string;
    let count = 0;
    const at = (name: string): string => `${root}/${name}`;
    const files = (): HostFiles => underTest.host.files;

    beforeAll(async () => {
      underTest = await create();
    });
    beforeEach(async () => {
      root = `${underTest.directory}/case-${count++}`;
      await files().mkdir(at('volume'), { recursive: true });
      await files().chmod(at('volume'), 0o777);
    });
    afterAll(async () => {
      await underTest.dispose();
    });

    const give = (host: Host, readOnly: boolean, fsGroup = 1001) =>
      setVolumeOwnership({
        host,
        clock: systemClock,
        directory: at('volume'),
        podUid: 'uid-1',
        fsGroup,
        readOnly,
      });
    const write = (payload: Payload) =>
      writeAtomically({
        files: files(),
        clock: systemClock,
        directory: at('volume'),
        payload,
        beforeSwitch: async () => {
          await give(underTest.host, true);
        },
      });

    it('a payload has its modes, its owners and the group', async () => {
      const first: Payload = new Map([
        ['config', { data: 'one', mode: 0o400 }],
        ['path/to/token', { data: 'secret', mode: 0o600, fsUser: 1000 }],
      ]);
      expect(await write(first)).toEqual({ written: true });
      expect(await write(first)).toEqual({ written: false });
      expect(await files().stat(at('volume/config'))).toMatchObject({ mode: 0o440, uid: 0, gid: 1001 });
      expect(await files().stat(at('volume/path/to/token'))).toMatchObject({
        mode: 0o640,
        uid: 1000,
        gid: 1001,
      });
      expect(await files().stat(at('volume/path/to'))).toMatchObject({ mode: 0o2755, gid: 1001 });
      expect(await files().stat(at('volume'))).toMatchObject({ mode: 0o2777, gid: 1001 });

      expect(await write(new Map([['config', { data: 'two', mode: 0o644 }]]))).toEqual({ written: true });
      expect(textOf(await files().readFile(at('volume/config')))).toBe('two');
      const current = await files().readlink(at('volume/..data'));
      expect([...(await files().readdir(at('volume')))].sort()).toEqual([current, '..data', 'config'].sort());
    });

    it('the walk changes nothing outside, whenever an entry becomes a link', async () => {
      for (let step = 1, calls = step; calls >= step; step++) {
        await files().mkdir(at('outside'), { recursive: true });
        await files().writeFile(at('outside/file'), 'x', { mode: 0o600 });
        await files().mkdir(at('volume/dir'), { recursive: true });
        await files().writeFile(at('volume/dir/file'), 'x', { mode: 0o600 });
        calls = 0;
        const host = interposed(underTest.host, async () => {
          if (++calls !== step) return;
          await files().rename(at('volume/dir'), at(`aside-${step}`));
          await files().symlink('../outside', at('volume/dir'));
        });
        await give(host, false);
        expect(await files().stat(at('outside')), `step ${step}`).toMatchObject({ mode: 0o755, gid: 0 });
        expect(await files().stat(at('outside/file')), `step ${step}`).toMatchObject({ mode: 0o600, gid: 0 });
        await files().unlink(at('volume/dir'));
      }
    });
  });
}
