/** Notes which driver mounted the volume of a pod: only that one can take it down, and only the disk knows after a restart. */
import { join } from 'node:path/posix';
import { type Host, isMissing, readRegular, replaceFile, temporarySuffix } from '../../../host/index.js';
import type { VolumeRemains } from '../../contracts.js';
import { removeEmpty, removeFile } from '../remote-disks/disk-notes.js';
import { podPluginDirectory } from '../volume-paths.js';
import { isFlexDriverName } from './flex-driver.js';
import { flexLimits } from './limits.js';

export interface FlexNote {
  readonly driver: string;
  /** Whether the volume was given to the pod's group. */
  readonly isOwned: boolean;
}

const noteName = 'driver.json';

export class FlexNotes {
  readonly #host: Host;
  readonly #rootDir: string;
  readonly #pluginName: string;

  constructor(host: Host, rootDir: string, pluginName: string) {
    this.#host = host;
    this.#rootDir = rootDir;
    this.#pluginName = pluginName;
  }

  async write(remains: VolumeRemains, note: FlexNote): Promise<void> {
    await replaceFile(this.#host.files, this.#path(remains), `${JSON.stringify(note)}\n`);
  }

  /** Undefined if there is none. */
  async read(remains: VolumeRemains): Promise<FlexNote | undefined> {
    const path = this.#path(remains);
    let text: string;
    try {
      text = (await readRegular(this.#host, path, flexLimits.noteBytes)).toString('utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const note = noteIn(text);
    if (note === undefined) throw new Error(`${path} names no driver`);
    return note;
  }

  async remove(remains: VolumeRemains): Promise<void> {
    const path = this.#path(remains);
    await removeFile(this.#host, `${path}${temporarySuffix}`);
    await removeFile(this.#host, path);
    await removeEmpty(this.#host, this.#directory(remains));
  }

  #directory({ podUid, innerName }: VolumeRemains): string {
    return podPluginDirectory(this.#rootDir, podUid, this.#pluginName, innerName);
  }

  #path(remains: VolumeRemains): string {
    return join(this.#directory(remains), noteName);
  }
}

function noteIn(text: string): FlexNote | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('driver' in value)) return undefined;
    const { driver } = value;
    if (typeof driver !== 'string' || !isFlexDriverName(driver)) return undefined;
    return { driver, isOwned: 'isOwned' in value && value.isOwned === true };
  } catch {
    return undefined;
  }
}
