/** Takes profiles of this process through V8's own profilers. */
import { Session } from 'node:inspector';
import type { V8CpuProfile, V8HeapProfile } from './v8-profiles.js';

/** Each runs until `until` resolves, and takes nothing with it when `until` rejects. */
export interface Profiler {
  cpu(samplingIntervalMs: number, until: () => Promise<void>): Promise<V8CpuProfile>;
  /** What was allocated meanwhile: all of it, or what is still in use at the end. */
  allocations(
    options: { readonly samplingIntervalBytes: number; readonly withFreed: boolean },
    until: () => Promise<void>,
  ): Promise<V8HeapProfile>;
}

export const v8Profiler: Profiler = {
  cpu: (samplingIntervalMs, until) =>
    inSession(async (session) => {
      await post(session, 'Profiler.enable');
      await post(session, 'Profiler.setSamplingInterval', { interval: samplingIntervalMs * 1000 });
      await post(session, 'Profiler.start');
      await until();
      const { profile } = (await post(session, 'Profiler.stop')) as { profile: V8CpuProfile }; // as the protocol says
      return profile;
    }),
  allocations: ({ samplingIntervalBytes, withFreed }, until) =>
    inSession(async (session) => {
      await post(session, 'HeapProfiler.enable');
      await post(session, 'HeapProfiler.startSampling', {
        samplingInterval: samplingIntervalBytes,
        includeObjectsCollectedByMajorGC: withFreed,
        includeObjectsCollectedByMinorGC: withFreed,
      });
      await until();
      const { profile } = (await post(session, 'HeapProfiler.stopSampling')) as { profile: V8HeapProfile }; // as the protocol says
      return profile;
    }),
};

/** The end of a session ends the profilers that it started. */
async function inSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  try {
    return await work(session);
  } finally {
    session.disconnect();
  }
}

function post(session: Session, method: string, parameters?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, result) => {
      if (error === null) resolve(result);
      else reject(error);
    });
  });
}
