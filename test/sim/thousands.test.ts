/** Thousands of pods on one simulated node, by the library's public surface. */
import { expect, it } from 'vitest';
import {
  createKubelet,
  criEvents,
  filelessPodConfigs,
  type Pod,
  SimRuntime,
  VirtualClock,
} from '../../src/index.js';

const podCount = 2_000;
/** Far more than it takes on an idle machine. */
const patienceMs = 120_000;

function pods(): Pod[] {
  return Array.from({ length: podCount }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `p${index}`,
      namespace: 'default',
      uid: `uid-${index}`,
      annotations: { 'sim.nodelet.dev/run-time': `${60_000 + index * 10}ms` },
    },
    spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app:1' }] },
  }));
}

it(
  'runs two thousand pods to their end',
  async () => {
    const clock = new VirtualClock();
    const runtime = new SimRuntime({ clock, images: 'any' });
    const reached = { Running: new Set<string>(), Succeeded: new Set<string>() };
    const kubelet = await createKubelet({
      nodeName: 'virtual-1',
      runtime,
      rootDir: '/nonexistent/nodelet',
      clock,
      podConfigs: filelessPodConfigs,
      podDirectories: false,
      eventSources: [criEvents],
      config: { maxPods: podCount, imageGCHighThresholdPercent: 100, resolvConf: '' },
      sources: [
        {
          name: 'file',
          create: ({ deliver }) => ({
            run: async (signal) => {
              await deliver({ source: 'file', pods: pods() }, signal);
              await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
            },
          }),
        },
      ],
    });
    kubelet.onStatus(({ uid, status: { phase } }) => {
      if (phase === 'Running' || phase === 'Succeeded') reached[phase].add(uid);
    });
    void kubelet.start().then((error) => {
      throw error;
    });
    await clock.advanceUntil(() => reached.Running.size === podCount, 60_000);
    // One for the end of each container at least.
    expect(clock.pendingTimers).toBeGreaterThanOrEqual(podCount);
    await clock.advanceUntil(() => reached.Succeeded.size === podCount);
    await kubelet.stop();
    await runtime.close();
    expect(clock.pendingTimers).toBe(0);
  },
  patienceMs,
);
