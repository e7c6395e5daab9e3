/** What a machine does to bring files to its disk. */
import { describe, expect, it } from 'vitest';
import { type HostFiles, replaceFile } from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';

export function describeDurableFiles(contract: HostContract): void {
  const { at } = contract;

  describe.each(['files', 'ownFiles'] as const)('durable %s', (side) => {
    const files = (): HostFiles => contract.host[side];

    it('a synced file has its content and mode, and a longer one before it leaves nothing', async () => {
      await files().writeFile(at('file'), 'a long content', { mode: 0o640, sync: true });
      await files().writeFile(at('file'), 'short', { mode: 0o600, sync: true });
      expect(textOf(await files().readFile(at('file')))).toBe('short');
      expect((await files().stat(at('file'))).mode).toBe(0o640);
      expect(await codeOf(files().writeFile(at('file'), '', { sync: true, exclusive: true }))).toBe('EEXIST');
      expect(await codeOf(files().writeFile(at('no/file'), '', { sync: true }))).toBe('ENOENT');
    });

    it('a file that is to be synced can be read before it is', async () => {
      let read: Promise<Uint8Array> | undefined;
      const onWritten = (): void => {
        read = files().readFile(at('file'));
      };
      await files().writeFile(at('file'), 'content', { sync: true, onWritten });
      expect(textOf((await read) ?? new Uint8Array())).toBe('content');
    });

    it('directories are synced, and nothing else is', async () => {
      await files().writeFile(at('file'), '');
      await files().syncDirectory(at('.'));
      expect(await codeOf(files().syncDirectory(at('file')))).toBe('ENOTDIR');
      expect(await codeOf(files().syncDirectory(at('none')))).toBe('ENOENT');
    });

    it('a replacement makes the directories that are missing and leaves nothing beside the file', async () => {
      await replaceFile(files(), at('a/b/file'), 'first', { mode: 0o600, directoryMode: 0o700 });
      await files().writeFile(at('a/b/file.tmp'), 'left by a crash');
      await replaceFile(files(), at('a/b/file'), 'second', { mode: 0o600 });
      expect(textOf(await files().readFile(at('a/b/file')))).toBe('second');
      expect(await files().readdir(at('a/b'))).toEqual(['file']);
      expect((await files().stat(at('a/b'))).mode).toBe(0o700);
      expect((await files().stat(at('a/b/file'))).mode).toBe(0o600);
    });

    it('a replacement that cannot be made leaves what was there', async () => {
      await files().mkdir(at('directory/full'), { recursive: true });
      expect(await codeOf(replaceFile(files(), at('directory'), 'text'))).toBe('EISDIR');
      expect([...(await files().readdir(at('.')))]).toEqual(['directory']);
    });
  });
}
