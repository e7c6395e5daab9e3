/** One kubelet on a simulated runtime with 100 pods, recorded or not: what their starts, an hour of rest and their ends cost. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Channel, VirtualClock } from '../../src/async/index.js';
import type { Pod } from '../../src/kube/index.js';
import { createKubelet, type Kubelet, type KubeletOptions } from '../../src/kubelet/index.js';
import { Registry } from '../../src/metrics/index.js';
import { startRecording } from '../../src/replay/index.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import { criEvents } from '../../src/runtime-manager/pleg/index.js';
import { SimRuntime } from '../../src/runtimes/sim/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { apiPod } from '../../test/sim/pods.js';

export interface RecordFigures {
  readonly startsCpuMs: number;
  readonly hourCpuMs: number;
  readonly endsCpuMs: number;
  /** Bytes on the disk after the starts, the hour and the ends; 0 without a record. */
  readonly startsBytes: number;
  readonly hourBytes: number;
  readonly endsBytes: number;
}

const minuteMs = 60_000;

async function measure(isRecorded: boolean, podCount: number, restMinutes: number): Promise<RecordFigures> {
  const clock = new VirtualClock();
  const runtime = new SimRuntime({ clock, images: 'any' });
  const timeline = new Timeline({ clock });
  const pods = new Channel<readonly Pod[]>(10);
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-record-'));
  const recording = isRecorded
    ? startRecording({
        dir,
        limitBytes: 1e9,
        agentVersion: 'bench',
        timeline,
        registry: new Registry(),
        clock,
      })
    : undefined;
  const options: KubeletOptions = {
    nodeName: 'bench',
    runtime,
    rootDir: '/nonexistent/kubelet',
    clock,
    timeline,
    podConfigs: filelessPodConfigs,
    podDirectories: false,
    node: () => undefined,
    startsAtOnce: 4,
    eventSources: [criEvents],
    config: { maxPods: 2 * podCount, imageGCHighThresholdPercent: 100, resolvConf: '' },
    sources: [
      {
        name: 'api',
        create: ({ deliver }) => ({
          run: async (signal) => {
            for (;;) {
              const next = await pods.receive(signal);
              if (next.done) return;
              await deliver({ source: 'api', pods: next.value }, signal);
            }
          },
        }),
      },
    ],
  };
  const kubelet: Kubelet =
    recording === undefined
      ? await createKubelet(options)
      : await recording.make(options, undefined, createKubelet);
  void kubelet.start();
  pods.trySend([]);
  await advance(clock, minuteMs);
  const bytes = (): number =>
    readdirSync(dir).reduce((sum, name) => sum + statSync(path.join(dir, name)).size, 0);
  const cost = async (work: () => Promise<void>): Promise<{ cpuMs: number; bytes: number }> => {
    const before = { cpu: process.cpuUsage(), bytes: bytes() };
    await work();
    const { user, system } = process.cpuUsage(before.cpu);
    return { cpuMs: (user + system) / 1000, bytes: bytes() - before.bytes };
  };
  const ready = (): number => kubelet.pods().filter(({ status }) => status?.phase === 'Running').length;
  const starts = await cost(async () => {
    pods.trySend(Array.from({ length: podCount }, (_, index) => apiPod(`pod-${index}`, { graceSeconds: 1 })));
    await advance(clock, 2 * minuteMs);
  });
  if (ready() !== podCount) throw new Error(`${ready()} of ${podCount} pods run`);
  const rest = await cost(() => advance(clock, restMinutes * minuteMs));
  const ends = await cost(async () => {
    pods.trySend([]);
    await advance(clock, 2 * minuteMs);
  });
  await kubelet.stop();
  await recording?.close();
  rmSync(dir, { recursive: true });
  return {
    startsCpuMs: starts.cpuMs,
    startsBytes: starts.bytes,
    hourCpuMs: (rest.cpuMs * 60) / restMinutes,
    hourBytes: (rest.bytes * 60) / restMinutes,
    endsCpuMs: ends.cpuMs,
    endsBytes: ends.bytes,
  };
}

/** In steps of a second, after each of which the disk may write. */
async function advance(clock: VirtualClock, durationMs: number): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= 1000) await clock.advance(Math.min(1000, leftMs));
  await new Promise((resolve) => setTimeout(resolve, 100));
}

const [kind, podCount = '100', restMinutes = '60'] = process.argv.slice(2);
process.stdout.write(
  JSON.stringify(await measure(kind === 'recorded', Number(podCount), Number(restMinutes))),
);
