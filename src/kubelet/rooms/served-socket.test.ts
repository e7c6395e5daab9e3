/** Holds that no stop leaves a socket open, whenever it comes: an open socket keeps the process alive. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Timeline } from '../../timeline/index.js';
import { servedSocket } from './served-socket.js';

let directory: string;
let timeline: Timeline;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'served-'));
  timeline = new Timeline();
});
afterEach(() => rmSync(directory, { recursive: true }));

const socketPath = (): string => join(directory, 'api', 'kubelet.sock');
const open = () => servedSocket({ timeline, name: 'The API', socketPath: socketPath(), services: [] });
const answers = (): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(socketPath())
      .on('connect', () => resolve(true))
      .on('connect', () => socket.destroy())
      .on('error', () => resolve(false));
  });

it('is served from the start to the stop', async () => {
  const socket = open();
  await socket.start();
  expect(await answers()).toBe(true);
  await socket.stop();
  expect(await answers()).toBe(false);
});

it('is not opened by a start that comes after the stop', async () => {
  const socket = open();
  await socket.stop();
  await socket.start();
  expect(existsSync(join(directory, 'api'))).toBe(false);
});

it('is closed by a stop that comes while it is opened', async () => {
  const socket = open();
  const started = socket.start();
  await socket.stop();
  await started;
  expect(await answers()).toBe(false);
});

it('is stopped well if it could not be opened, which the timeline tells', async () => {
  const long = join(directory, 'x'.repeat(120));
  const socket = servedSocket({ timeline, name: 'The API', socketPath: long, services: [] });
  await socket.start();
  await socket.stop();
  expect(timeline.ofNode().map(({ what }) => what)).toEqual(['node.socket']);
});
