/** The store of what must outlive a crash, with a timeline that tells what becomes of its files. */
import type { Clock } from '../../async/index.js';
import { DurableFiles, type HostFiles } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface RecordedDurableFiles {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  /** Aborted when the agent stops: it does not wait for a disk to read from any longer. */
  readonly signal?: AbortSignal;
}

export function recordedDurableFiles({
  files,
  clock,
  timeline,
  nodeName,
  signal,
}: RecordedDurableFiles): DurableFiles {
  return new DurableFiles({
    files,
    clock,
    ...(signal === undefined ? {} : { signal }),
    observer: {
      setAside: ({ path, movedTo, reason }) => {
        const place = movedTo === undefined ? 'it could not be moved away' : `it is kept as ${movedTo}`;
        const message = `${path} cannot be used: ${reason}; ${place}, and what it said is found out anew`;
        timeline.nodeEvent(nodeName, 'Warning', 'CheckpointSetAside', message);
      },
      failing: (path, error, failures) =>
        timeline.record({
          kind: 'problem',
          what: 'checkpoint.write',
          message: `${path} cannot be written (${error.code}); it is tried again until it can`,
          level: 'warn',
          data: { code: error.code, failures },
          error,
        }),
      recovered: (path, failures) =>
        timeline.record({
          kind: 'effect',
          what: 'checkpoint.write',
          message: `${path} is written again`,
          because: 'the disk takes it',
          data: { failures },
        }),
    },
  });
}
