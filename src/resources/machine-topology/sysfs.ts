/** Reads files of the kernel about the machine; they are small, and longer ones are refused. */
import { type Host, HostError, isHostError } from '../../host/index.js';

/** What the reader needs of the machine. */
export type TopologyHost = Pick<Host, 'ownFiles'>;

/** Most have less than a page; `cpuinfo` has about 2 KiB for each CPU. */
const longestFileBytes = 16 * 1024 * 1024;

/** A file that is not there is undefined. */
export class Sysfs {
  readonly #host: TopologyHost;

  constructor(host: TopologyHost) {
    this.#host = host;
  }

  async text(path: string): Promise<string | undefined> {
    try {
      const bytes = await this.#host.ownFiles.readFile(path);
      if (bytes.length > longestFileBytes)
        throw new HostError('EFBIG', path, `EFBIG: '${path}' is longer than ${longestFileBytes} bytes`);
      return new TextDecoder().decode(bytes);
    } catch (error) {
      if (isHostError(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    }
  }

  /** Throws if the file holds anything but a number. */
  async number(path: string): Promise<number | undefined> {
    const text = (await this.text(path))?.trim();
    if (text === undefined) return undefined;
    if (!/^-?\d{1,15}$/.test(text))
      throw new Error(`${path} holds ${JSON.stringify(text.slice(0, 40))}, not a number`);
    return Number(text);
  }

  async names(directory: string): Promise<readonly string[]> {
    try {
      return await this.#host.ownFiles.readdir(directory);
    } catch (error) {
      if (isHostError(error, 'ENOENT', 'ENOTDIR')) return [];
      throw error;
    }
  }

  /** The numbers of the entries named by a prefix and a number, ascending. */
  async numbered(directory: string, prefix: string, limit: number): Promise<readonly number[]> {
    const found: number[] = [];
    for (const name of await this.names(directory)) {
      const digits = name.startsWith(prefix) ? name.slice(prefix.length) : '';
      if (/^\d{1,5}$/.test(digits)) found.push(Number(digits));
    }
    if (found.length > limit) throw new Error(`${directory} has more than ${limit} entries named ${prefix}`);
    return found.sort((a, b) => a - b);
  }
}
