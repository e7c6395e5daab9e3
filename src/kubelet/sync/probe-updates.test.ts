import { expect, it } from 'vitest';
import type { ProbeResult } from '../../kube/index.js';
import type { ProbeKind } from '../../probes/index.js';
import { handleProbeUpdate } from './probe-updates.js';

it.each<[string, ProbeKind, ProbeResult, string[]]>([
  ['a container that is alive needs nothing', 'liveness', 'success', []],
  ['what liveness cannot tell needs nothing', 'liveness', 'unknown', []],
  ['a container that is not alive is looked at', 'liveness', 'failure', ['sync p']],
  ['a ready container shows as ready', 'readiness', 'success', ['ready c true', 'sync p']],
  ['one that is not ready shows as not ready', 'readiness', 'failure', ['ready c false', 'sync p']],
  ['a started container shows as started', 'startup', 'success', ['started c true', 'sync p']],
  ['one that did not start is looked at', 'startup', 'failure', ['started c false', 'sync p']],
])('%s', (_rule, kind, result, expected) => {
  const done: string[] = [];
  handleProbeUpdate(
    kind,
    { podUid: 'p', containerId: 'c', result },
    {
      statuses: {
        setContainerReadiness: (_uid, id, isReady) => void done.push(`ready ${id} ${isReady}`),
        setContainerStarted: (_uid, id, isStarted) => void done.push(`started ${id} ${isStarted}`),
      },
      sync: (uids) => void done.push(`sync ${uids.join()}`),
    },
  );
  expect(done).toEqual(expected);
});
