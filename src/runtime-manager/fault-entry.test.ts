/** What the timeline tells of known faults: which one, of which pod, and once where a reading is repeated. */
import { describe, expect, it } from 'vitest';
import {
  CriError,
  type CriRuntime,
  criLabels,
  type KnownFaultId,
  type ObservedContainerStatus,
  withCallRules,
} from '../cri/index.js';
import { explainPod, explanationText, type TimelineEntry } from '../timeline/index.js';
import { faultOfContainer } from './fault-entry.js';
import { RuntimeManager } from './manager.js';
import { bench, makePod, makeStatus, running } from './test-fixtures.js';

function faults(entries: readonly TimelineEntry[]): unknown[] {
  return entries.filter(({ what }) => what === 'runtime.fault').map(({ data }) => data);
}

async function kill(overrides: Partial<CriRuntime>, isRuled = false) {
  const table = bench({ overrides });
  const { clock } = table;
  const cri = isRuled
    ? withCallRules(table.options.cri, { clock, requestTimeoutMs: 1000 })
    : table.options.cri;
  const pod = makePod();
  const killing = new RuntimeManager({ ...table.options, cri }).killPod(
    pod,
    makeStatus(pod, [running('c0')]),
  );
  let done = false;
  void killing.finally(() => {
    done = true;
  });
  await clock.advanceUntil(() => done);
  return table.timeline.ofPod('uid-1');
}

describe('stopping a pod', () => {
  const failing = (code: 'NotFound' | 'DeadlineExceeded' | 'Internal') => () =>
    Promise.reject(new CriError(code, 'no'));
  it.each([
    ['a missing container', { stopContainer: failing('NotFound') }, false, 'StopOfMissing'],
    [
      'a missing container, forgiven by the call rules',
      { stopContainer: failing('NotFound') },
      true,
      'StopOfMissing',
    ],
    ['a missing sandbox', { stopPodSandbox: failing('NotFound') }, false, 'StopOfMissing'],
    ['a container whose shim hangs', { stopContainer: failing('DeadlineExceeded') }, false, 'StopStuck'],
    ['a sandbox whose shim hangs', { stopPodSandbox: failing('DeadlineExceeded') }, false, 'StopStuck'],
    ['any other failure is no known fault', { stopContainer: failing('Internal') }, false, undefined],
    ['a stop that works', {}, true, undefined],
  ] satisfies [string, Partial<CriRuntime>, boolean, KnownFaultId | undefined][])(
    '%s',
    async (_, overrides, isRuled, fault) => {
      expect(faults(await kill(overrides, isRuled))).toEqual(fault === undefined ? [] : [{ fault }]);
    },
  );
});

it('explain says which fault it was, and what was done', async () => {
  const entries = await kill({ stopContainer: () => Promise.reject(new CriError('NotFound', 'no')) });
  expect(explanationText(explainPod(entries, [], 0))).toContain(
    'c0: known fault of the runtime: it does not know a container or sandbox any more that it has just listed; done: it counts as stopped',
  );
});

it('a container in an unknown state is told of before it is replaced', async () => {
  const { options, timeline } = bench();
  const pod = makePod();
  const status = makeStatus(pod, [{ name: 'c0', state: 'unknown' }]);
  await new RuntimeManager(options).syncPod(pod, status, { restartingAllContainers: false });
  expect(faults(timeline.ofPod('uid-1'))).toEqual([{ fault: 'StateUnknown' }]);
});

it('readings that show the same fault of a container are told of once', () => {
  const { timeline } = bench();
  const tell = faultOfContainer(timeline);
  const status = (id: string): ObservedContainerStatus =>
    // The function reads the id, the name and the labels.
    ({ id, name: 'c0', labels: { [criLabels.podUid]: 'uid-1' } }) as unknown as ObservedContainerStatus;
  for (const id of ['a', 'a', 'b']) tell('OomReasonMissing', status(id));
  expect(faults(timeline.ofPod('uid-1'))).toHaveLength(2);
});
