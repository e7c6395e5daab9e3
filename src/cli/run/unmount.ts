/** Unmounts everything below the directories of a run before they are removed. */
import { type Clock, sleep } from '../../async/index.js';
import { isHostError, linuxHost, mountPointsUnder } from '../../host/index.js';

/** Processes that were just killed may still use a mount; a busy machine takes seconds to end them. */
const busyLimitMs = 30_000;
const busyPollMs = 50;

/** Unmounts everything below the directories. Throws when a mount stays busy. */
export async function unmountBelow(clock: Clock, directories: readonly string[]): Promise<void> {
  if (process.platform !== 'linux') return;
  const { mounts, ...host } = linuxHost({ clock });
  const giveUpMs = clock.monotonic() + busyLimitMs;
  for (const directory of directories) {
    const found = (await mountPointsUnder({ mounts, ...host }, directory)).map(({ target }) => target);
    // Deeper mounts first, and of several on one path the latest first.
    for (const target of found.reverse().sort((a, b) => b.length - a.length)) {
      for (;;) {
        const error = await mounts.unmount(target).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) break;
        if (!isHostError(error, 'EBUSY') || clock.monotonic() > giveUpMs) throw error;
        await sleep(clock, busyPollMs);
      }
    }
  }
}
