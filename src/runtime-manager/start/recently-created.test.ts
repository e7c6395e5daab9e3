import { describe, expect, it } from 'vitest';
import { PodSandboxStatus } from '../../cri/index.js';
import { RecentlyCreated } from './recently-created.js';

describe('RecentlyCreated', () => {
  it('keeps what was made until a look has shown it', () => {
    const creations = new RecentlyCreated();
    creations.addSandbox('p', 's');
    creations.addContainer('p', 'a', 's');
    const shown = creations.unseen('p');
    expect(shown).toEqual({ sandboxIds: ['s'], containers: [{ id: 'a', sandboxId: 's' }] });
    creations.addContainer('p', 'b', 's');
    creations.seen('p', shown);
    expect(creations.unseen('p')).toEqual({ sandboxIds: [], containers: [{ id: 'b', sandboxId: 's' }] });
  });
  it('a reading of a new sandbox serves once, while it is new', () => {
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
  it('keeps pods apart, and forgets one that ends', () => {
    const creations = new RecentlyCreated();
    creations.addSandbox('p', 's');
    creations.addSandbox('q', 't');
    creations.forget('p');
    expect(creations.unseen('p').sandboxIds).toEqual([]);
    expect(creations.unseen('q').sandboxIds).toEqual(['t']);
  });
});
