import { describe, expect, it } from 'vitest';
import { OwnCreations } from './own-creations.js';

describe('OwnCreations', () => {
  it('keeps what was made until a look has shown it', () => {
    const creations = new OwnCreations();
    creations.addSandbox('p', 's');
    creations.addContainer('p', 'a', 's');
    const shown = creations.unseen('p');
    expect(shown).toEqual({ sandboxIds: ['s'], containers: [{ id: 'a', sandboxId: 's' }] });
    creations.addContainer('p', 'b', 's');
    creations.seen('p', shown);
    expect(creations.unseen('p')).toEqual({ sandboxIds: [], containers: [{ id: 'b', sandboxId: 's' }] });
  });
  it('keeps pods apart, and forgets one that ends', () => {
    const creations = new OwnCreations();
    creations.addSandbox('p', 's');
    creations.addSandbox('q', 't');
    creations.forget('p');
    expect(creations.unseen('p').sandboxIds).toEqual([]);
    expect(creations.unseen('q').sandboxIds).toEqual(['t']);
  });
});
