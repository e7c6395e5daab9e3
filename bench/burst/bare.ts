/** Bursts by bare CRI calls: what the runtime itself needs to start and end the same pods. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Gate } from '../../src/async/index.js';
import type { CriClient } from '../../src/cri/index.js';
import { defaultStartsAtOnce } from '../../src/kubelet/settings.js';
import { removeAllPods } from '../pods.js';
import { type RecordedPod, replica, startReplica } from '../recorded-pod.js';
import type { SideBurst } from './figures.js';

/** As many at a time as nodelet starts and lets end. */
const startsAtOnce = defaultStartsAtOnce();
const endsAtOnce = startsAtOnce + 2;
const graceSeconds = 30;
/** A container that was just started may not take SIGTERM yet. */
const settleMs = 2_000;

export async function bareBurst(
  cri: CriClient,
  recorded: RecordedPod,
  name: string,
  count: number,
): Promise<SideBurst> {
  const pods = Array.from({ length: count }, (_, index) => replica(recorded, `${name}-${index}`));
  const readyMs = await timed(pods, startsAtOnce, (pod) => startReplica(cri, pod));
  await sleep(settleMs);
  const { containers } = await cri.listContainers({});
  const goneMs = await timed(containers, endsAtOnce, async ({ id, podSandboxId }) => {
    await cri.stopContainer({ containerId: id, timeout: graceSeconds });
    await cri.stopPodSandbox({ podSandboxId });
  });
  await removeAllPods(cri);
  return { readyMs, goneMs };
}

/** After which time each was done. */
async function timed<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<number[]> {
  const gate = new Gate(atOnce);
  const startMs = performance.now();
  return Promise.all(
    items.map((item) =>
      gate.run(async () => {
        await work(item);
        return performance.now() - startMs;
      }),
    ),
  );
}
