import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Cancelled } from '../async/index.js';
import { loggedTimeline } from './log.js';

const whole = { splitStream: false, infoBufferSize: '0' };
const logging = (text = whole): Parameters<typeof loggedTimeline>[0] => ({
  format: 'text',
  verbosity: 0,
  flushFrequency: 60_000,
  vmodule: [],
  options: { text, json: whole },
});

it.each([
  ['all in one stream', whole, 'bad good ', ''],
  ['errors apart from the rest', { splitStream: true, infoBufferSize: '0' }, 'bad ', 'good '],
  ['the rest only in parts', { splitStream: true, infoBufferSize: '1k' }, 'bad ', ''],
])('writes %s', async (_, text, main, info) => {
  const found = { main: '', info: '' };
  const sink = (name: 'main' | 'info') => {
    const take = (bytes: Uint8Array): number => {
      found[name] += Buffer.from(bytes).toString();
      return bytes.length;
    };
    return { write: async (bytes: Uint8Array) => take(bytes), writeNow: take };
  };
  const words = (name: 'main' | 'info'): string => (found[name].match(/(bad|good) /g) ?? []).join('');
  const log = loggedTimeline(logging(text), { main: sink('main'), info: sink('info') });
  log.timeline.record({ kind: 'problem', what: 'agent.task', message: 'bad end', error: new Error('no') });
  log.timeline.record({ kind: 'notice', what: 'agent.task', message: 'good end', level: 'info' });
  await turn();
  await turn();
  expect([words('main'), words('info')]).toEqual([main, info]);
  await log.close();
  expect(`${words('main')}${words('info')}`).toBe('bad good ');
});

it('tells in the stream of errors that the other one fails', async () => {
  let text = '';
  const take = (bytes: Uint8Array): number => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const broken = (): never => {
    throw new Error('EPIPE');
  };
  const log = loggedTimeline(logging({ splitStream: true, infoBufferSize: '0' }), {
    main: { write: async (bytes) => take(bytes), writeNow: take },
    info: { write: async () => broken(), writeNow: broken },
  });
  log.timeline.record({ kind: 'notice', what: 'agent.task', message: 'good end', level: 'info' });
  await turn();
  await turn();
  await log.close();
  expect(text).toContain('cannot be written to standard output');
});

it('leaves out cancelled work once the agent stops, and keeps failures', async () => {
  let text = '';
  const take = (bytes: Uint8Array): number => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const log = loggedTimeline(logging(), { main: { write: async (bytes) => take(bytes), writeNow: take } });
  const record = (message: string, error: Error) =>
    log.timeline.record({ kind: 'problem', what: 'agent.task', message, error });
  const cancelled = new Error('sync failed', { cause: new Cancelled() });
  record('cancelled while running', cancelled);
  log.stopping();
  record('cancelled while stopping', cancelled);
  record('failed while stopping', new Error('the text "context canceled" decides nothing'));
  await log.close();
  expect(text.match(/\w+ while \w+/g)).toEqual(['cancelled while running', 'failed while stopping']);
});

it.each([
  ['pleg.relist', true],
  ['pleg.*', true],
  ['pleg.relis?', true],
  ['pleg', false],
  ['pleg+relist', false],
  ['volume.*', false],
])('vmodule %s=4 shows the entry pleg.relist of the level debug: %s', async (filePattern, isShown) => {
  let text = '';
  const take = (bytes: Uint8Array): number => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const vmodule = [{ filePattern, verbosity: 4 }];
  const main = { write: async (bytes: Uint8Array) => take(bytes), writeNow: take };
  const log = loggedTimeline({ ...logging(), vmodule }, { main });
  log.timeline.record({ kind: 'problem', what: 'pleg.relist', message: 'the entry', level: 'debug' });
  await log.close();
  expect(text.includes('the entry')).toBe(isShown);
});
