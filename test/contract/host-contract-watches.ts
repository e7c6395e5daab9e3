/** What any host tells of names that come and go in a directory. */
import { describe, expect, it } from 'vitest';
import { pollUntil } from '../env/poll.js';
import { codeOf, type HostContract } from './host-contract.js';

export function describeWatches(contract: HostContract): void {
  describe('watches', () => {
    it.each<[string, (at: string) => Promise<void>]>([
      ['made', (at) => contract.host.files.writeFile(`${at}/new`, '')],
      ['removed', (at) => contract.host.files.unlink(`${at}/old`)],
      ['moved away', (at) => contract.host.files.rename(`${at}/old`, `${at}-gone`)],
      ['moved here', (at) => contract.host.files.rename(`${at}-elsewhere`, `${at}/new`)],
    ])('tells of a name that was %s', async (_, change) => {
      const at = contract.at('dir');
      const { files } = contract.host;
      await files.mkdir(at);
      await files.writeFile(`${at}/old`, '');
      await files.writeFile(`${at}-elsewhere`, '');
      let told = 0;
      const watch = contract.host.watch(at, () => told++);
      await change(at);
      await pollUntil('the change is told', () => told > 0 || undefined, { timeoutMs: 5_000 });
      watch.close();
    });

    it('tells nothing after it was closed, nor of what happens further down', async () => {
      const at = contract.at('dir');
      const { files } = contract.host;
      await files.mkdir(`${at}/below`, { recursive: true });
      let told = 0;
      const closed = contract.host.watch(at, () => told++);
      closed.close();
      closed.close();
      const deep = contract.host.watch(at, () => told++);
      await files.writeFile(`${at}/below/new`, '');
      let seen = 0;
      const other = contract.host.watch(`${at}/below`, () => seen++);
      await files.writeFile(`${at}/below/newer`, '');
      await pollUntil('the other watch tells', () => seen > 0 || undefined, { timeoutMs: 5_000 });
      expect(told).toBe(0);
      deep.close();
      other.close();
    });

    it('needs a directory', async () => {
      const { files } = contract.host;
      await files.writeFile(contract.at('file'), '');
      const start = (name: string) => async () => contract.host.watch(contract.at(name), () => {}).close();
      expect(await codeOf(start('none')())).toBe('ENOENT');
      expect(await codeOf(start('file')())).toBe('ENOTDIR');
    });
  });
}
