import { describe, expect, it } from 'vitest';
import type { ObservedState } from '../../cri/index.js';
import { type AwaitedKind, shows } from './unconfirmed-events.js';

describe('shows', () => {
  it.each<[AwaitedKind, ObservedState | undefined, boolean]>([
    ['start', undefined, false],
    ['start', 'created', false],
    ['start', 'running', true],
    ['start', 'exited', true],
    ['exit', undefined, true],
    ['exit', 'created', false],
    ['exit', 'running', false],
    ['exit', 'exited', true],
    ['exit', 'unknown', true],
    ['delete', undefined, true],
    ['delete', 'exited', false],
    ['delete', 'running', false],
  ])('%s, listed as %s: %s', (kind, state, shown) => {
    expect(shows(kind, state)).toBe(shown);
  });
});
