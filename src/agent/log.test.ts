import { expect, it } from 'vitest';
import { Cancelled } from '../async/index.js';
import { loggedTimeline } from './log.js';

it('leaves out cancelled work once the agent stops, and keeps failures', async () => {
  let text = '';
  const take = (bytes: Uint8Array): number => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const logging = { format: 'text', verbosity: 0, flushFrequency: 0 } as Parameters<typeof loggedTimeline>[0];
  const log = loggedTimeline(logging, { write: async (bytes) => take(bytes), writeNow: take });
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
