/** What a machine does with loop devices. */
import { describe, expect, it } from 'vitest';
import type { HostBlockDevices, HostFiles } from '../../src/host/index.js';
import { codeOf, type HostContract } from './host-contract.js';

export function describeBlockDevices(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const devices = (): HostBlockDevices => contract.host.blockDevices;
  const loopsOf = async (file: string): Promise<string[]> =>
    (await devices().loops()).filter((loop) => loop.file === at(file)).map(({ device }) => device);
  const disk = async (name: string): Promise<void> => files().writeFile(at(name), new Uint8Array(64 * 1024));

  describe('loop devices', () => {
    it('shows a file until it is detached', async () => {
      await disk('disk');
      expect(await loopsOf('disk')).toEqual([]);
      await devices().attachLoop(at('disk'));
      const [device = '', ...others] = await loopsOf('disk');
      expect(others).toEqual([]);
      expect(device).toMatch(/^\/dev\/loop[0-9]+$/);
      await devices().detachLoop(device);
      expect(await loopsOf('disk')).toEqual([]);
      // Another device may have the number by now, unless nothing else runs here: nothing fails.
      await devices().detachLoop('/dev/loop99999999');
    });

    it('keeps the mount of its file busy', async () => {
      await disk('disk');
      await files().writeFile(at('bound'), '');
      await contract.host.mounts.mount({ source: at('disk'), target: at('bound'), options: ['bind'] });
      await devices().attachLoop(at('bound'));
      const [device = ''] = await loopsOf('bound');
      expect(await codeOf(contract.host.mounts.unmount(at('bound')))).toBe('EBUSY');
      await devices().detachLoop(device);
      await contract.host.mounts.unmount(at('bound'));
    });

    it('refuses a missing file, a directory and a relative path', async () => {
      await files().mkdir(at('directory'));
      expect(await codeOf(devices().attachLoop(at('missing')))).toBe('EIO');
      expect(await codeOf(devices().attachLoop(at('directory')))).toBe('EIO');
      expect(await codeOf(devices().attachLoop('disk'))).toBe('EINVAL');
      expect(await codeOf(devices().detachLoop('--all'))).toBe('EINVAL');
    });

    it('claims nothing that is no disk', async () => {
      await disk('disk');
      contract.makePipe(at('pipe'));
      for (const name of ['disk', 'pipe', 'missing', 'disk/below'])
        expect(await devices().isClaimed(at(name)), name).toBe(false);
    });
  });
}
