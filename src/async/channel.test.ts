import { describe, expect, it } from 'vitest';
import { Channel, ChannelClosed, select, selectByName } from './channel.js';
import { Cancelled } from './clock.js';
import { settle } from './virtual-clock.js';

describe('Channel', () => {
  it('delivers values in order', async () => {
    const channel = new Channel<number>(3);
    for (const value of [1, 2, 3]) expect(channel.trySend(value)).toBe(true);
    expect(channel.trySend(4)).toBe(false);
    expect(await channel.receive()).toEqual({ done: false, value: 1 });
    expect(await channel.receive()).toEqual({ done: false, value: 2 });
  });
  it('makes a sender wait for room', async () => {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    let sent = false;
    const sending = channel.send(2).then(() => {
      sent = true;
    });
    await settle();
    expect(sent).toBe(false);
    await channel.receive();
    await sending;
    expect(await channel.receive()).toEqual({ done: false, value: 2 });
  });
  it('lets a waiting sender be cancelled without losing others', async () => {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    const stop = new AbortController();
    const cancelled = channel.send(2, stop.signal);
    const kept = channel.send(3);
    stop.abort();
    await expect(cancelled).rejects.toBeInstanceOf(Cancelled);
    expect(await channel.receive()).toEqual({ done: false, value: 1 });
    await kept;
    expect(await channel.receive()).toEqual({ done: false, value: 3 });
  });
  it('drains after close, then returns done', async () => {
    const channel = new Channel<number>(2);
    channel.trySend(1);
    channel.close();
    await expect(channel.send(2)).rejects.toBeInstanceOf(ChannelClosed);
    expect(await channel.receive()).toEqual({ done: false, value: 1 });
    expect(await channel.receive()).toEqual({ done: true });
  });
  it('wakes a waiting receiver', async () => {
    const channel = new Channel<number>(1);
    const receiving = channel.receive();
    await settle();
    channel.trySend(7);
    expect(await receiving).toEqual({ done: false, value: 7 });
  });
});

describe('select', () => {
  it('chooses among all ready channels, so that none starves', async () => {
    const channels = [new Channel<number>(1), new Channel<number>(1), new Channel<number>(1)];
    channels[0]!.trySend(0);
    channels[2]!.trySend(2);
    expect(await select(channels, undefined, () => 0)).toBe(0);
    expect(await select(channels, undefined, () => 0.99)).toBe(2);
  });
  it('waits for the first ready channel and leaves no watcher', async () => {
    const channels = [new Channel<number>(1), new Channel<number>(1)];
    const chosen = select(channels);
    await settle();
    channels[1]!.trySend(1);
    expect(await chosen).toBe(1);
    channels[0]!.trySend(1);
    expect(await select(channels, undefined, () => 0)).toBe(0);
  });
  it('ends when cancelled', async () => {
    const stop = new AbortController();
    const chosen = select([new Channel<number>(1)], stop.signal);
    stop.abort();
    await expect(chosen).rejects.toBeInstanceOf(Cancelled);
  });
});

describe('selectByName', () => {
  it('returns the name of the channel that is ready', async () => {
    const channels = { config: new Channel<number>(1), ticks: new Channel<number>(1) };
    const chosen = selectByName(channels);
    channels.ticks.trySend(1);
    expect(await chosen).toBe('ticks');
  });
  it('chooses among ready ones in the order of the names', async () => {
    const channels = { a: new Channel<number>(1), b: new Channel<number>(1) };
    for (const channel of Object.values(channels)) channel.trySend(1);
    expect(await selectByName(channels, undefined, () => 0)).toBe('a');
    expect(await selectByName(channels, undefined, () => 0.99)).toBe('b');
  });
});
