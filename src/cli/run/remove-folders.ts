/** Takes away what is mounted in the folders of a run before they are removed. */
import { type Clock, sleep } from '../../async/index.js';
import { isHostError, linuxHost, mountPointsUnder } from '../../host/index.js';

/** Processes that were killed a moment ago may hold a folder a little longer. */
const busyLimitMs = 5_000;
const busyPollMs = 50;

/** Unmounts what volumes, sandboxes and the run itself have left below the folders; throws when something resists. */
export async function unmountBelow(clock: Clock, folders: readonly string[]): Promise<void> {
  if (process.platform !== 'linux') return;
  const { mounts, ...host } = linuxHost({ clock });
  const giveUpMs = clock.monotonic() + busyLimitMs;
  for (const folder of folders) {
    const found = (await mountPointsUnder({ mounts, ...host }, folder)).map(({ target }) => target);
    // What lies deeper, or was mounted later on the same place, goes first.
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
