import { describe, expect, it } from 'vitest';
import { eventsBetween, type PlegState } from './compare.js';

describe('eventsBetween', () => {
  const table: [PlegState, PlegState, string][] = [
    ['non-existent', 'running', 'ContainerStarted'],
    ['non-existent', 'exited', 'ContainerDied'],
    ['non-existent', 'unknown', 'ContainerChanged'],
    ['running', 'running', ''],
    ['running', 'exited', 'ContainerDied'],
    ['running', 'unknown', 'ContainerChanged'],
    ['running', 'non-existent', 'ContainerDied ContainerRemoved'],
    ['exited', 'running', 'ContainerStarted'],
    ['exited', 'exited', ''],
    ['exited', 'unknown', 'ContainerChanged'],
    ['exited', 'non-existent', 'ContainerRemoved'],
    ['unknown', 'running', 'ContainerStarted'],
    ['unknown', 'exited', 'ContainerDied'],
    ['unknown', 'unknown', ''],
    ['unknown', 'non-existent', 'ContainerDied ContainerRemoved'],
  ];
  it.each(table)('%s → %s: %s', (before, after, events) => {
    expect(eventsBetween(before, after).join(' ')).toBe(events);
  });
});
