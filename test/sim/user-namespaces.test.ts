/** User ids of pods: each pod with a user namespace has a range of its own, for as long as it may run. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Init, RunPodSandboxRequest } from '../../src/cri/index.js';
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import { endNodes, startNode } from './node.js';
import { apiPod } from './pods.js';

let rootDir = '';
afterEach(async () => {
  await endNodes();
  await rm(rootDir, { recursive: true, force: true });
});

it('pods that have ended give their ranges back before they are deleted', async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'nodelet-users-'));
  const node = await startNode({
    kubelet: {
      rootDir,
      podDirectories: true,
      podConfigs: undefined,
      machine: simulatedHost({ machine: new SimulatedMachine() }),
      keyring: { lookup: async () => [] },
      config: { maxPods: 2, podLogsDir: join(rootDir, 'logs') },
      containerLogsDir: join(rootDir, 'containers'),
    },
  });
  const job = (name: string) =>
    apiPod(name, { spec: { hostUsers: false, restartPolicy: 'Never' }, sim: { 'run-time': '1s' } });
  for (const name of ['a', 'b', 'c', 'd']) {
    node.put(job(name));
    // Files of the real machine take real time.
    for (let turn = 0; turn < 400 && node.status(name)?.phase !== 'Succeeded'; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await node.advance(100);
    }
    expect(node.status(name)?.phase, name).toBe('Succeeded');
  }
  const sandboxes = node.line.of('runPodSandbox').map((call) => {
    const request = call.request as Init<RunPodSandboxRequest>;
    const { uids } = request.config?.linux?.securityContext?.namespaceOptions?.usernsOptions ?? {};
    return uids?.map(({ hostId }) => hostId);
  });
  expect(sandboxes).toHaveLength(4);
  for (const ids of sandboxes) expect([[65_536], [131_072]]).toContainEqual(ids);
});
