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
  const news: string[] = [];
  const records = new PodRecords({ onNewId: (id, uid) => void news.push(`${uid}/${id}`) });
  const see = (...pods: ObservedPod[]): string[] => {
    news.length = 0;
    records.seeAll(pods);
    for (const record of [...records.values()]) records.advance(record);
    return [...news];
  };
  it('knows whose a container or sandbox is, and tells of new ones', () => {
    expect(see(pod('p', 'a'), pod('q', 'b'))).toEqual(['p/a', 'p/s-p', 'q/b', 'q/s-q']);
    expect(['a', 's-p', 'b', 'x'].map((id) => records.podOf(id))).toEqual(['p', 'p', 'q', undefined]);
  });
  it('tells of what is new to a pod only', () => {
    expect(see(pod('p', 'a', 'c'), pod('q', 'b'))).toEqual(['p/c']);
  });
  it('forgets containers that are gone, and pods that are gone', () => {
    expect(see(pod('p', 'c'))).toEqual([]);
    expect(['a', 'b', 's-q', 'c'].map((id) => records.podOf(id))).toEqual([
      undefined,
      undefined,
      undefined,
      'p',
    ]);
    expect([...records.values()].map(({ uid }) => uid)).toEqual(['p']);
  });
  it('keeps the old state until it is advanced', () => {
    records.see('p', undefined);
    expect(records.get('p')).toMatchObject({ old: { uid: 'p' }, current: undefined });
    expect(records.podOf('c')).toBe('p');
  });
});
