/** A recording of an agent: its kubelet's ports, its files, and what is told of both. */
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../async/index.js';
import type { Kubelet, KubeletOptions } from '../kubelet/index.js';
import type { Registry } from '../metrics/index.js';
import type { Timeline } from '../timeline/index.js';
import { createRecordMetrics } from './metrics.js';
import { headLine, type RecordedCluster, recordHead } from './record-head.js';
import { type RecordEnd, RecordWriter } from './record-writer.js';
import { type MakeKubelet, recordedKubelet } from './recorded-kubelet.js';
import { Recorder } from './recorder.js';

export interface RecordingOptions {
  readonly dir: string;
  readonly limitBytes: number;
  readonly agentVersion: string;
  readonly timeline: Timeline;
  readonly registry: Registry;
  /** The kubelet's; the disk has the time of this machine. */
  readonly clock?: Clock;
}

export interface Recording {
  /** Makes the kubelet that is recorded; once. */
  make<Made extends Kubelet>(
    options: KubeletOptions,
    cluster: RecordedCluster | undefined,
    make: MakeKubelet<Made>,
  ): Promise<Made>;
  /** Writes what is there. The kubelet may go on, without being recorded. */
  close(): Promise<void>;
}

const reasons: Readonly<Record<RecordEnd, string>> = {
  limit: 'this start of the agent alone fills what --record-limit allows',
  'slow disk': 'the disk does not take it as fast as it comes',
  disk: 'the disk does not take it',
  entry: 'one answer is longer than an entry can be',
};

export function startRecording({
  dir,
  limitBytes,
  agentVersion,
  timeline,
  registry,
  clock = systemClock,
}: RecordingOptions): Recording {
  const metrics = createRecordMetrics(registry);
  const writer = new RecordWriter({
    dir,
    limitBytes,
    onWritten: (bytes) => metrics.written.inc(bytes),
    onEnd: (end, error) => {
      recorder.end();
      metrics.active.set(0);
      timeline.record({
        kind: 'problem',
        what: 'agent.record',
        level: 'warn',
        message: `the recording in ${dir} has ended; it can be replayed up to here`,
        because: reasons[end],
        ...(error === undefined ? {} : { error }),
      });
    },
  });
  const recorder = new Recorder({ clock, write: (line, isNews) => writer.write(line, isNews) });
  metrics.active.set(1);
  return {
    make(options, cluster, make) {
      const seed = randomUUID();
      writer.write(headLine(recordHead(options, cluster, { agentVersion, startedMs: clock.now(), seed })));
      timeline.record({
        kind: 'notice',
        what: 'agent.record',
        level: 'info',
        message: `what comes in is recorded in ${dir}`,
      });
      return recordedKubelet(recorder, { ...options, timeline, seed }, make);
    },
    async close() {
      recorder.end();
      metrics.active.set(0);
      await writer.close();
    },
  };
}
