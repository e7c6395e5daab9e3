import { describe, expect, it } from 'vitest';
import { ProgressNoter } from './progress-notes.js';
import { LayerLedger, layersOf, progressText } from './pull-progress.js';

const a = { digest: 'sha256:aa', sizeBytes: 1000 };
const b = { digest: 'sha256:bb', sizeBytes: 3000 };

describe('layersOf', () => {
  const manifest = (layers: unknown): Buffer => Buffer.from(JSON.stringify({ schemaVersion: 2, layers }));
  it.each([
    ['a manifest', manifest([{ digest: 'sha256:aa', size: 1000 }]), [a]],
    [
      'a layer that occurs twice',
      manifest([
        { digest: 'sha256:aa', size: 1000 },
        { digest: 'sha256:aa', size: 1000 },
      ]),
      [a],
    ],
    ['no layers', manifest([]), []],
    ['an index', Buffer.from('{"manifests":[]}'), undefined],
    ['not JSON', Buffer.from([0x1f, 0x8b]), undefined],
    ['null', Buffer.from('null'), undefined],
    ['layers that are no list', manifest({ length: 1 }), undefined],
    ['a layer that is no object', manifest([null]), undefined],
    ['a negative size', manifest([{ digest: 'sha256:aa', size: -1 }]), undefined],
    ['a size beyond numbers', manifest([{ digest: 'sha256:aa', size: 1e300 }]), undefined],
    [
      'more layers than any image has',
      manifest(Array.from({ length: 1001 }, () => ({ digest: 'x', size: 1 }))),
      undefined,
    ],
  ])('%s', (_, blob, expected) => {
    expect(layersOf(blob)).toEqual(expected);
  });
});

describe('LayerLedger', () => {
  const fetching = (done: number): { digest: string; doneBytes: number } => ({
    digest: b.digest,
    doneBytes: done,
  });

  it('counts what is there, what is fetched, and what no longer is as complete', () => {
    const ledger = new LayerLedger([a, b], [{ ...a, createdSeconds: 0 }]);
    const looks = [[fetching(0)], [fetching(600)], [fetching(1200)], []].map((fetched, index) =>
      ledger.look(fetched, 2000 * index),
    );
    expect(looks.map(({ doneBytes }) => doneBytes)).toEqual([1000, 1600, 2200, 4000]);
    expect(looks.map(({ bytesPerSecond }) => bytesPerSecond)).toEqual([0, 300, 300, 480]);
    expect(looks.map(({ isUnpacking }) => isUnpacking)).toEqual([false, false, false, true]);
    expect(new Set(looks.map(({ totalBytes }) => totalBytes))).toEqual(new Set([4000]));
  });
  it('a layer whose turn has not come is not there', () => {
    const ledger = new LayerLedger([a, b], []);
    expect(ledger.look([fetching(300)], 0)).toMatchObject({ doneBytes: 300, isUnpacking: false });
  });
  it('a fetch that starts over has less', () => {
    const ledger = new LayerLedger([b], []);
    ledger.look([fetching(2000)], 0);
    expect(ledger.look([fetching(10)], 1000)).toMatchObject({ doneBytes: 10, bytesPerSecond: 0 });
  });
  it('never has more than there is', () => {
    expect(new LayerLedger([b], []).look([fetching(9999)], 0).doneBytes).toBe(3000);
  });
});

it.each([
  [{ doneBytes: 0, bytesPerSecond: 0 }, '0 % of 300.2 MB'],
  [{ doneBytes: 120_400_000, bytesPerSecond: 12_100_000 }, '40 % of 300.2 MB, 12.1 MB/s, 15s left'],
  [{ doneBytes: 0, bytesPerSecond: 1_000_000 }, '0 % of 300.2 MB, 1.0 MB/s, 5m left'],
  [{ doneBytes: 0, bytesPerSecond: 10_000 }, '0 % of 300.2 MB, 0.0 MB/s, 8h left'],
  [{ doneBytes: 300_200_000, isUnpacking: true }, 'all of 300.2 MB fetched, unpacking'],
])('%o: %s', (progress, expected) => {
  const text = progressText({ bytesPerSecond: 0, isUnpacking: false, totalBytes: 300_200_000, ...progress });
  expect(text).toBe(expected);
});

it('a pull of ten minutes has a note each 10 s and five events', () => {
  const noter = new ProgressNoter(0);
  const notes = { note: 0, event: 0 };
  for (let second = 3; second <= 600; second += 2) {
    const { note, event } = noter.at(second * 1000);
    if (note) notes.note++;
    if (event) notes.event++;
  }
  expect(notes).toEqual({ note: 60, event: 5 });
});
