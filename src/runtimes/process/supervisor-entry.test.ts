import { expect, it } from 'vitest';
import { defaultSupervisorEntry, supervisorWord } from './supervisor-entry.js';

it('names what it looked for', () =>
  expect(() => defaultSupervisorEntry('file:///nowhere/a/b/c.js')).toThrow(
    'no supervisor at /nowhere/a/b/supervisor.js nor /nowhere/a/supervisor.js nor',
  ));

it('is a word to the single executable', () =>
  expect(defaultSupervisorEntry('file:///nowhere/a/b/c.js', true)).toBe(supervisorWord));
