import { expect, it } from 'vitest';
import { loadConfiguration } from '../config/index.js';
import { Timeline } from '../timeline/index.js';
import { announceConfiguration } from './start-checks.js';

it('tells the configuration in force once, without the values of headers', async () => {
  const loaded = await loadConfiguration({
    argv: [
      '--manifest-url=http://127.0.0.1/x',
      '--manifest-url-header=Authorization:secret',
      '--kubeconfig=/k',
      '--max-pods=33',
    ],
    cwd: '/',
    readFile: () => Promise.reject(new Error('no file')),
    listDir: () => Promise.reject(new Error('no directory')),
  });
  if (loaded.kind !== 'run') throw new Error('the flags ask for a run');
  const timeline = new Timeline();
  announceConfiguration(loaded, timeline);
  const entries = timeline.ofNode();
  expect(entries.map(({ message, level }) => [message, level])).toEqual([
    ['Effective KubeletConfiguration', 'info'],
  ]);
  const text = JSON.stringify(entries);
  expect(text).toContain('maxPods: 33');
  expect(text).toContain('<masked>');
  expect(text).not.toContain('secret');
});
