/** What a machine does with files. */
import { describe, expect, it } from 'vitest';
import type { HostFiles } from '../../src/host/index.js';
import { codeOf, type HostContract, textOf } from './host-contract.js';

export function describeFiles(contract: HostContract): void {
  const { at } = contract;
  const files = (): HostFiles => contract.host.files;
  const modeOf = async (name: string): Promise<string> => (await files().lstat(at(name))).mode.toString(8);

  describe('files', () => {
    /** A file, a directory with a file, an empty directory, links to them, nowhere and themselves. */
    const furnish = async (): Promise<void> => {
      await files().writeFile(at('file'), 'content');
      await files().mkdir(at('full'));
      await files().writeFile(at('full/inner'), 'inner');
      await files().mkdir(at('empty'));
      await files().symlink('file', at('link'));
      await files().symlink('full', at('directory-link'));
      await files().symlink('nowhere', at('dangling'));
      await files().symlink('loop', at('loop'));
    };

    const failures: readonly [rule: string, code: string, call: (files: HostFiles) => Promise<unknown>][] = [
      ['stat of nothing', 'ENOENT', (files) => files.stat(at('nothing'))],
      ['stat of a dangling link', 'ENOENT', (files) => files.stat(at('dangling'))],
      ['stat of a link to itself', 'ELOOP', (files) => files.stat(at('loop'))],
      ['stat below a file', 'ENOTDIR', (files) => files.stat(at('file/below'))],
      ['stat below nothing', 'ENOENT', (files) => files.stat(at('nothing/below'))],
      ['stat of a name that is too long', 'ENAMETOOLONG', (files) => files.stat(at('x'.repeat(256)))],
      ['lstat of nothing', 'ENOENT', (files) => files.lstat(at('nothing'))],
      ['a file with a slash behind it', 'ENOTDIR', (files) => files.stat(at('file/'))],
      ['read of nothing', 'ENOENT', (files) => files.readFile(at('nothing'))],
      ['read of a directory', 'EISDIR', (files) => files.readFile(at('full'))],
      ['write below nothing', 'ENOENT', (files) => files.writeFile(at('nothing/below'), '')],
      ['write over a directory', 'EISDIR', (files) => files.writeFile(at('full'), '')],
      ['exclusive over a file', 'EEXIST', (files) => files.writeFile(at('file'), '', { exclusive: true })],
      [
        'exclusive over a dangling link',
        'EEXIST',
        (f) => f.writeFile(at('dangling'), '', { exclusive: true }),
      ],
      ['mkdir over a file', 'EEXIST', (files) => files.mkdir(at('file'))],
      ['mkdir over a dangling link', 'EEXIST', (files) => files.mkdir(at('dangling'))],
      ['mkdir below nothing', 'ENOENT', (files) => files.mkdir(at('nothing/below'))],
      ['recursive mkdir over a file', 'EEXIST', (files) => files.mkdir(at('file'), { recursive: true })],
      ['recursive mkdir below a file', 'ENOTDIR', (files) => files.mkdir(at('file/x'), { recursive: true })],
      ['readdir of a file', 'ENOTDIR', (files) => files.readdir(at('file'))],
      ['readdir of nothing', 'ENOENT', (files) => files.readdir(at('nothing'))],
      ['symlink over a link', 'EEXIST', (files) => files.symlink('x', at('link'))],
      ['readlink of a file', 'EINVAL', (files) => files.readlink(at('file'))],
      ['readlink of nothing', 'ENOENT', (files) => files.readlink(at('nothing'))],
      ['realpath of a dangling link', 'ENOENT', (files) => files.realpath(at('dangling'))],
      ['realpath of a loop', 'ELOOP', (files) => files.realpath(at('loop'))],
      ['rename of nothing', 'ENOENT', (files) => files.rename(at('nothing'), at('x'))],
      ['a directory over a full one', 'ENOTEMPTY', (files) => files.rename(at('empty'), at('full'))],
      ['a directory over a file', 'ENOTDIR', (files) => files.rename(at('empty'), at('file'))],
      ['a file over a directory', 'EISDIR', (files) => files.rename(at('file'), at('empty'))],
      ['a directory into itself', 'EINVAL', (files) => files.rename(at('full'), at('full/x'))],
      ['unlink of nothing', 'ENOENT', (files) => files.unlink(at('nothing'))],
      ['unlink of a directory', 'EISDIR', (files) => files.unlink(at('empty'))],
      ['rmdir of nothing', 'ENOENT', (files) => files.rmdir(at('nothing'))],
      ['rmdir of a file', 'ENOTDIR', (files) => files.rmdir(at('file'))],
      ['rmdir of a link to a directory', 'ENOTDIR', (files) => files.rmdir(at('directory-link'))],
      ['rmdir of a full directory', 'ENOTEMPTY', (files) => files.rmdir(at('full'))],
      ['chmod of nothing', 'ENOENT', (files) => files.chmod(at('nothing'), 0o600)],
      ['chmod through a dangling link', 'ENOENT', (files) => files.chmod(at('dangling'), 0o600)],
      ['lchown of nothing', 'ENOENT', (files) => files.lchown(at('nothing'), 1, 1)],
    ];
    it.each(failures)('%s fails with %s', async (_, code, call) => {
      await furnish();
      expect(await codeOf(call(files()))).toBe(code);
    });

    it('failures name their path', async () => {
      await expect(files().stat(at('nothing'))).rejects.toMatchObject({
        code: 'ENOENT',
        path: at('nothing'),
        message: expect.stringContaining('ENOENT: no such file or directory'),
      });
    });

    it('what is written is read, and written again it is shorter', async () => {
      await files().writeFile(at('file'), new Uint8Array([1, 2, 255, 0]));
      expect([...(await files().readFile(at('file')))]).toEqual([1, 2, 255, 0]);
      await files().writeFile(at('file'), 'ä');
      expect(textOf(await files().readFile(at('file')))).toBe('ä');
      expect((await files().stat(at('file'))).sizeBytes).toBe(2);
    });

    it('the umask takes its bits from new files and directories, and an existing mode stays', async () => {
      await files().writeFile(at('file'), '', { mode: 0o666 });
      await files().mkdir(at('directory'), { mode: 0o777 });
      await files().mkdir(at('sticky'), { mode: 0o1777 });
      await files().writeFile(at('closed'), '', { mode: 0o600 });
      await files().writeFile(at('closed'), '', { mode: 0o666 });
      expect(await modeOf('file')).toBe('644');
      expect(await modeOf('directory')).toBe('755');
      expect(await modeOf('sticky')).toBe('1755');
      expect(await modeOf('closed')).toBe('600');
    });

    it('chmod sets exact bits, through links', async () => {
      await furnish();
      await files().chmod(at('link'), 0o4777);
      await files().chmod(at('full'), 0o3777);
      expect(await modeOf('file')).toBe('4777');
      expect(await modeOf('full')).toBe('3777');
    });

    it('lchown changes what it is told to, never through a link, and takes setuid and setgid from files', async () => {
      await furnish();
      await files().chmod(at('file'), 0o6775);
      await files().lchown(at('file'), -1, 77);
      await files().lchown(at('link'), 5, -1);
      await files().chmod(at('full'), 0o2775);
      await files().lchown(at('full'), -1, 78);
      expect(await files().lstat(at('file'))).toMatchObject({ uid: 0, gid: 77, mode: 0o775 });
      expect(await files().lstat(at('link'))).toMatchObject({ uid: 5, gid: 0 });
      expect(await files().lstat(at('full'))).toMatchObject({ uid: 0, gid: 78, mode: 0o2775 });
    });

    it('entries below a setgid directory have its group, and directories are setgid, too', async () => {
      await files().mkdir(at('shared'));
      await files().lchown(at('shared'), -1, 123);
      await files().chmod(at('shared'), 0o2770);
      await files().mkdir(at('shared/directory'), { mode: 0o750 });
      await files().writeFile(at('shared/file'), '', { mode: 0o640 });
      await files().symlink('x', at('shared/link'));
      expect(await files().lstat(at('shared/directory'))).toMatchObject({ gid: 123, mode: 0o2750 });
      expect(await files().lstat(at('shared/file'))).toMatchObject({ gid: 123, mode: 0o640 });
      expect(await files().lstat(at('shared/link'))).toMatchObject({ gid: 123 });
    });

    it('kinds, identity and links', async () => {
      await furnish();
      const file = await files().stat(at('file'));
      expect(file).toMatchObject({ kind: 'file', uid: 0, gid: 0, sizeBytes: 7, links: 1 });
      expect(await files().stat(at('link'))).toEqual(file);
      expect(await files().lstat(at('link'))).toMatchObject({ kind: 'symlink', sizeBytes: 4 });
      expect((await files().stat(at('full'))).kind).toBe('directory');
      expect((await files().stat(at('full/inner'))).inode).not.toBe(file.inode);
      expect((await files().stat(at('full/inner'))).device).toBe(file.device);
    });

    it('paths go through links, `..` and `.`, and realpath tells where they end', async () => {
      await furnish();
      await files().symlink(at('directory-link'), at('absolute'));
      await files().symlink('../full/inner', at('empty/up'));
      expect(textOf(await files().readFile(at('absolute/../file')))).toBe('content');
      expect(textOf(await files().readFile(at('./empty/up')))).toBe('inner');
      expect(await files().realpath(at('absolute/inner'))).toBe(at('full/inner'));
      expect(await files().realpath(at('empty/up'))).toBe(at('full/inner'));
      expect(await files().readlink(at('empty/up'))).toBe('../full/inner');
    });

    it('writing through a dangling link makes what it names', async () => {
      await furnish();
      await files().writeFile(at('dangling'), 'new');
      expect(textOf(await files().readFile(at('nowhere')))).toBe('new');
    });

    it('recursive mkdir makes what is missing and takes what is there', async () => {
      await furnish();
      await files().mkdir(at('a/b/c'), { mode: 0o750, recursive: true });
      await files().mkdir(at('a/b/c'), { mode: 0o700, recursive: true });
      await files().mkdir(at('directory-link/new'), { recursive: true });
      expect(await modeOf('a')).toBe('750');
      expect(await modeOf('a/b/c')).toBe('750');
      expect([...(await files().readdir(at('full')))].sort()).toEqual(['inner', 'new']);
    });

    it('rename replaces a link itself, and not what it names', async () => {
      await furnish();
      await files().symlink('full', at('new-link'));
      await files().rename(at('new-link'), at('link'));
      expect(await files().readlink(at('link'))).toBe('full');
      expect(textOf(await files().readFile(at('file')))).toBe('content');
      expect(await codeOf(files().lstat(at('new-link')))).toBe('ENOENT');
    });

    it('rename replaces a file and an empty directory, and keeps what is moved the same', async () => {
      await furnish();
      const { inode } = await files().stat(at('full'));
      await files().rename(at('full'), at('empty'));
      expect((await files().stat(at('empty'))).inode).toBe(inode);
      expect(await files().readdir(at('empty'))).toEqual(['inner']);
      await files().rename(at('empty/inner'), at('file'));
      expect(textOf(await files().readFile(at('file')))).toBe('inner');
    });

    it('unlink takes the link and leaves what it names; rmdir takes an empty directory', async () => {
      await furnish();
      await files().unlink(at('link'));
      await files().unlink(at('directory-link'));
      await files().rmdir(at('empty'));
      expect([...(await files().readdir(at('.')))].sort()).toEqual(['dangling', 'file', 'full', 'loop']);
    });
  });
}
