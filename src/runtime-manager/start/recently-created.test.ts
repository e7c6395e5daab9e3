import { describe, expect, it } from 'vitest';
import { PodSandboxStatus } from '../../cri/index.js';
import { RecentlyCreated } from './recently-created.js';

describe('RecentlyCreated', () => {
  it('keeps created parts until a relist has shown them', () => {
    const creations = new RecentlyCreated();
    creations.addSandbox('p', 's');
    creations.addContainer('p', 'a', 's');
    const shown = creations.unseen('p');
    expect(shown).toEqual({ sandboxIds: ['s'], containers: [{ id: 'a', sandboxId: 's' }] });
    creations.addContainer('p', 'b', 's');
    creations.seen('p', shown);
    expect(creations.unseen('p')).toEqual({ sandboxIds: [], containers: [{ id: 'b', sandboxId: 's' }] });
  });
  it('returns the first status of a sandbox once, while it is recent', () => {
    const creations = new RecentlyCreated();
    const status = PodSandboxStatus.create({ id: 's' });
    creations.noteSandbox('p', 's', { status, atMs: 0 });
    expect(creations.takeReading('p', 's', 0)).toBe(undefined);
    creations.addSandbox('p', 's');
    creations.noteSandbox('p', 's', { status, atMs: 0 });
    expect(creations.takeReading('p', 's', 2_000)).toBe(status);
    expect(creations.takeReading('p', 's', 2_000)).toBe(undefined);
    creations.noteSandbox('p', 's', { status, atMs: 0 });
    expect(creations.takeReading('p', 's', 2_001)).toBe(undefined);
  });
  it('separates pods, and forgets a pod that ends', () => {
    const creations = new RecentlyCreated();
    creations.addSandbox('p', 's');
    creations.addSandbox('q', 't');
    creations.forget('p');
    expect(creations.unseen('p').sandboxIds).toEqual([]);
    expect(creations.unseen('q').sandboxIds).toEqual(['t']);
  });
});
