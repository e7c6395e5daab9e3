import { expect, it } from 'vitest';
import { Link } from './link.js';

it('gives what was connected, and connecting returns it', () => {
  const link = new Link<{ readonly n: number }>('the number');
  const target = { n: 1 };
  expect(link.ifConnected).toBeUndefined();
  expect(link.connect(target)).toBe(target);
  expect(link.ifConnected).toBe(target);
  expect(link.target).toBe(target);
});

it('a use before the target is built names what is missing', () => {
  expect(() => new Link<string>('PodWorkers').target).toThrow('PodWorkers is not built yet');
});

it('has one other end', () => {
  const link = new Link<string>('PodWorkers');
  link.connect('a');
  expect(() => link.connect('b')).toThrow('PodWorkers is connected already');
  expect(link.target).toBe('a');
});
