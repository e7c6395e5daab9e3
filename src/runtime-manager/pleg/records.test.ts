import { describe, expect, it } from 'vitest';
import type { ObservedPod } from '../../cri/index.js';
import { PodRecords } from './records.js';

const pod = (uid: string, ...ids: string[]): ObservedPod => ({
  uid,
  name: uid,
  namespace: 'd',
  observedAtMs: 0,
  sandboxes: [{ id: `s-${uid}`, state: 'running', attempt: 0, createdAtNs: 0n }],
  containers: ids.map((id) => ({
    id,
    name: id,
    sandboxId: `s-${uid}`,
    state: 'running',
    image: '',
    imageId: '',
    hash: '',
    createdAtNs: 0n,
  })),
});

describe('PodRecords', () => {
  const records = new PodRecords();
  const see = (...pods: ObservedPod[]): void => {
    records.seeAll(pods);
    for (const record of records.values()) {
      if (record.current === undefined) records.forget(record);
      else {
        records.index(record);
        records.advance(record, record.current);
      }
    }
  };
  it('knows which pod owns a container or sandbox', () => {
    see(pod('p', 'a'), pod('q', 'b'));
    expect(['a', 's-p', 'b', 'x'].map((id) => records.podOf(id))).toEqual(['p', 'p', 'q', undefined]);
  });
  it('forgets removed containers and pods', () => {
    see(pod('p', 'c'));
    expect(['a', 'b', 's-q', 'c'].map((id) => records.podOf(id))).toEqual([
      undefined,
      undefined,
      undefined,
      'p',
    ]);
    expect([...records.values()].map(({ uid }) => uid)).toEqual(['p']);
  });
  it('keeps the old state, and its ids, until the events are delivered', () => {
    records.see('p', undefined);
    expect(records.get('p')).toMatchObject({ old: { uid: 'p' }, current: undefined });
    expect(records.podOf('c')).toBe('p');
  });
});
