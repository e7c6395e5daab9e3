/** The table of known faults: what is recognised as which, and that `docs/runtime-faults.md` shows it as it is. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CriError } from './errors.js';
import {
  type FaultSymptom,
  faultText,
  type KnownFault,
  type KnownFaultId,
  knownFaults,
  recogniseFault,
} from './known-faults.js';

const failure = (
  call: Extract<FaultSymptom, { seen: 'failure' }>['call'],
  code: ConstructorParameters<typeof CriError>[0],
  details = '',
): FaultSymptom => ({ seen: 'failure', call, error: new CriError(code, details) });
const reserved = 'failed to reserve sandbox name "a_b": name "a_b" is reserved for "0123"';
const volume = 'failed to mount image volume: ImageVolumeMountFailed: no such directory';
const exit = { seen: 'exit', exitCode: 137, reason: 'Error', killedByKernel: true } as const;

const rows: [symptom: FaultSymptom, fault: KnownFaultId | undefined][] = [
  [failure('runPodSandbox', 'Unknown', reserved), 'NameReserved'],
  [failure('createContainer', 'Unknown', 'error reserving ctr name a: name is reserved'), 'NameReserved'],
  [failure('createContainer', 'Unavailable', reserved), 'NameReserved'],
  [failure('stopContainer', 'Unknown', reserved), undefined],
  [failure('runPodSandbox', 'DeadlineExceeded'), 'AnswerLost'],
  [failure('createContainer', 'Unavailable'), 'AnswerLost'],
  [failure('createContainer', 'InvalidArgument'), undefined],
  [failure('listContainers', 'DeadlineExceeded'), undefined],
  [failure('createContainer', 'Unknown', volume), 'ImageVolumeMarkHidden'],
  [failure('createContainer', 'Unknown', 'ImageVolumeMountFailed: no such directory'), undefined],
  [failure('createContainer', 'Unknown', 'failed to mount image volume: no such directory'), undefined],
  [failure('stopContainer', 'DeadlineExceeded'), 'StopStuck'],
  [failure('stopPodSandbox', 'DeadlineExceeded'), 'StopStuck'],
  [failure('stopContainer', 'NotFound'), 'StopOfMissing'],
  [failure('stopPodSandbox', 'NotFound'), 'StopOfMissing'],
  [failure('removeContainer', 'NotFound'), undefined],
  [failure('updatePodSandboxResources', 'Unimplemented'), 'ResizeNotTold'],
  [failure('updatePodSandboxResources', 'Unknown', 'not implemented yet'), 'ResizeNotTold'],
  [failure('updatePodSandboxResources', 'Unknown', 'no such sandbox'), undefined],
  [failure('listPodSandboxStats', 'NotFound'), 'PodStatsFail'],
  [failure('listPodSandboxStats', 'Unimplemented'), undefined],
  [{ seen: 'container', state: 'unknown' }, 'StateUnknown'],
  [{ seen: 'container', state: 'running' }, undefined],
  [exit, 'OomReasonMissing'],
  [{ ...exit, killedByKernel: false }, undefined],
  [{ ...exit, reason: 'OOMKilled' }, undefined],
  [{ ...exit, exitCode: 0 }, undefined],
  [{ seen: 'start', sandboxEnded: true }, 'SandboxEndShownLate'],
  [{ seen: 'start', sandboxEnded: false }, undefined],
  [{ seen: 'events', error: new CriError('Canceled', 'context canceled') }, 'EventsEnd'],
  [{ seen: 'events', error: new Error('the stream ended') }, 'EventsEnd'],
  [{ seen: 'events', error: new CriError('Unimplemented', '') }, undefined],
  [{ seen: 'sandbox image', pinned: false }, 'SandboxImageNotPinned'],
  [{ seen: 'sandbox image', pinned: true }, undefined],
];

function nameOf(symptom: FaultSymptom): string {
  if (symptom.seen === 'failure') return `${symptom.call} fails with ${symptom.error.message}`;
  return JSON.stringify(symptom, (key, value: unknown) => (key === 'error' ? String(value) : value));
}

describe('recognising', () => {
  it.each(rows.map((row) => [nameOf(row[0]), ...row] as const))('%s', (_, symptom, fault) => {
    expect(recogniseFault(symptom)).toBe(fault);
  });
  it('every fault has a row above', () => {
    expect(new Set(rows.flatMap(([, fault]) => fault ?? []))).toEqual(new Set(Object.keys(knownFaults)));
  });
});

it('the text says what the runtime does, and what is done', () => {
  expect(faultText('StopOfMissing')).toBe(
    'known fault of the runtime: it does not know a container or sandbox any more that it has just listed; done: it counts as stopped',
  );
});

describe('docs/runtime-faults.md', () => {
  const page = readFileSync(new URL('../../docs/runtime-faults.md', import.meta.url), 'utf8');
  const cells = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
  it('has the rows of the table, in its order', () => {
    const table: [string, KnownFault][] = Object.entries(knownFaults);
    expect(cells).toEqual(
      table.map(([id, { fault, runtimes, sign, done, upstream }]) => [
        `\`${id}\``,
        sentence(`it ${fault}`),
        runtimes,
        sentence(sign),
        sentence(done),
        upstream.length === 0 ? '–' : upstream.join(', '),
      ]),
    );
  });
});
