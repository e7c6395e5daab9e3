import { describe, expect, it } from 'vitest';
import { oneLine, readResults, readSpecs } from './report.js';

interface Entry {
  readonly state: string;
  readonly text?: string;
  readonly type?: string;
  readonly message?: string;
  readonly panic?: string;
  readonly labels?: readonly string[];
  readonly containerLabels?: readonly string[];
}

const report = (...entries: readonly Entry[]): string =>
  JSON.stringify([
    {
      SpecReports: entries.map((entry) => ({
        ContainerHierarchyTexts: ['[sig-node] Pods', 'when new'],
        ContainerHierarchyLabels: [entry.containerLabels ?? ['sig-node'], null],
        LeafNodeType: entry.type ?? 'It',
        LeafNodeText: entry.text ?? 'start',
        LeafNodeLabels: entry.labels ?? null,
        State: entry.state,
        RunTime: 2_500_000_000,
        ...(entry.message === undefined
          ? {}
          : {
              Failure: {
                Message: entry.message,
                ...(entry.panic === undefined ? {} : { ForwardedPanic: entry.panic }),
                Location: { FileName: 'k8s.io/kubernetes/test/e2e/common/node/pods.go', LineNumber: 12 },
              },
            }),
      })),
    },
  ]);
const name = '[sig-node] Pods when new start';

describe('how a spec ended', () => {
  it.each<[string, Entry, object]>([
    ['passed', { state: 'passed' }, { kind: 'passed' }],
    [
      'a failure tells its message on one line and its place',
      { state: 'failed', message: 'Timed out.\n  Expected\n    <bool>: false\nto be true' },
      { kind: 'failed', reason: 'Timed out. Expected <bool>: false to be true (pods.go:12)' },
    ],
    [
      'a panic is a failure and tells what was thrown',
      { state: 'panicked', message: 'Test Panicked', panic: 'nil map' },
      { kind: 'failed', reason: 'panicked: Test Panicked nil map (pods.go:12)' },
    ],
    [
      'a spec out of time is a failure',
      { state: 'timedout', message: 'A suite timeout occurred' },
      { kind: 'failed', reason: 'timedout: A suite timeout occurred (pods.go:12)' },
    ],
    [
      'a spec that skips itself says why',
      { state: 'skipped', message: 'Only for GCE' },
      { kind: 'skipped', reason: 'Only for GCE (pods.go:12)' },
    ],
    ['a pending spec is skipped', { state: 'pending' }, { kind: 'skipped', reason: 'pending' }],
    [
      'one that was wanted and left out has failed',
      { state: 'skipped' },
      { kind: 'failed', reason: 'no word of it' },
    ],
    [
      'a state nobody knows is a failure',
      { state: 'puzzled' },
      { kind: 'failed', reason: "ended in the unknown state 'puzzled'" },
    ],
  ])('%s', (_rule, entry, outcome) => {
    expect(readResults(report(entry), [name], 'no word of it')).toEqual([
      { name, tookSeconds: 2.5, outcome },
    ]);
  });

  it('is a failure where there is no report', () => {
    const [result] = readResults(undefined, [name], 'the program was killed');
    expect(result).toEqual({
      name,
      tookSeconds: 0,
      outcome: { kind: 'failed', reason: 'the program was killed' },
    });
  });

  it('has the reason of the suite where that failed before the spec ran', () => {
    const json = report(
      { type: 'SynchronizedBeforeSuite', state: 'failed', message: 'no node is ready' },
      { state: 'skipped' },
    );
    const [result] = readResults(json, [name], 'no word of it');
    expect(result?.outcome).toEqual({
      kind: 'failed',
      reason: 'SynchronizedBeforeSuite failed: no node is ready (pods.go:12)',
    });
  });

  it('is not told of specs that were not wanted', () => {
    expect(readResults(report({ state: 'passed', text: 'other' }), [], '')).toEqual([]);
  });
});

describe('the specs of a dry run', () => {
  it('are those that would run, in the order of their names, with those that are slow or must run alone', () => {
    const json = report(
      { state: 'passed', text: 'stop', labels: ['Serial', 'Slow'] },
      { state: 'skipped', text: 'other' },
      { state: 'passed', type: 'ReportAfterSuite', text: 'sum up' },
      { state: 'passed', text: 'start' },
      { state: 'passed', text: 'wait', containerLabels: ['Serial'] },
    );
    expect(readSpecs(json)).toEqual([
      { name: '[sig-node] Pods when new start', serial: false, slow: false },
      { name: '[sig-node] Pods when new stop', serial: true, slow: true },
      { name: '[sig-node] Pods when new wait', serial: true, slow: false },
    ]);
  });

  it('refuses what is no report', () => {
    expect(() => readSpecs('{}')).toThrow("the specs' report is not a list of suites");
  });
});

it('a long reason loses its middle', () => {
  expect(oneLine(`${'a'.repeat(251)}${'z'.repeat(250)}`)).toBe(`${'a'.repeat(250)} … ${'z'.repeat(250)}`);
  expect(oneLine('x'.repeat(500))).toBe('x'.repeat(500));
});
