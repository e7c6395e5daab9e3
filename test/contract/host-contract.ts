/** What any `Host` must do: one suite that the simulated machine and a real one pass alike. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import type { Host } from '../../src/host/index.js';
import { describeBlockDevices } from './host-contract-block-devices.js';
import { describeDurableFiles } from './host-contract-durable.js';
import { describeFiles } from './host-contract-files.js';
import { describeHeldPaths } from './host-contract-held-paths.js';
import { describeMounts } from './host-contract-mounts.js';
import { describeOpenedFiles } from './host-contract-opened.js';
import { describeTrees } from './host-contract-trees.js';
import { describeWatches } from './host-contract-watches.js';

export interface HostUnderTest {
  readonly host: Host;
  /** A directory of its own on a disk file system, canonical and empty at first. */
  readonly directory: string;
  /** Makes a named pipe, which no call of a host makes. */
  readonly makePipe: (path: string) => void;
  readonly dispose: () => Promise<void>;
}

/** One test's own place on the machine. */
export interface HostContract {
  readonly host: Host;
  /** The path of a name in the test's own directory. */
  readonly at: (name: string) => string;
  readonly makePipe: (path: string) => void;
}

/** Under the umask 022, as root. */
export function describeHostContract(name: string, create: () => Promise<HostUnderTest>): void {
  describe(`host contract: ${name}`, () => {
    let underTest: HostUnderTest;
    let directory: string;
    let count = 0;
    const contract: HostContract = {
      get host() {
        return underTest.host;
      },
      at: (name) => `${directory}/${name}`,
      makePipe: (path) => underTest.makePipe(path),
    };

    beforeAll(async () => {
      underTest = await create();
    });
    beforeEach(async () => {
      directory = `${underTest.directory}/case-${count++}`;
      await underTest.host.files.mkdir(directory);
    });
    afterEach(async () => {
      const { mounts } = underTest.host;
      const left = (await mounts.list()).filter(({ target }) => target.startsWith(`${directory}/`));
      for (const { target } of left.toReversed()) await mounts.unmount(target);
    });
    afterAll(async () => {
      await underTest?.dispose();
    });

    describeFiles(contract);
    describeDurableFiles(contract);
    describeMounts(contract);
    describeHeldPaths(contract);
    describeOpenedFiles(contract);
    describeTrees(contract);
    describeWatches(contract);
    describeBlockDevices(contract);
  });
}

/** The code that a call fails with, or `none`. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'HostError' || !('code' in error)) throw error;
    return String(error.code);
  }
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
