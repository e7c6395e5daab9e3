/** Our WebSocket frames against those of `ws`: what a client can make either hold, and CPU of reading. */
import { createRequire } from 'node:module';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { webSocketLimits } from '../src/streaming/limits.js';
import { encodeFrame, Opcode, WebSocketFrameReader } from '../src/streaming/websocket/frames.js';
import { type Bench, type Measure, medianOf } from './measure.js';

// Its types leave the class out, which is the part that is compared: frames in, messages out.
const { Receiver } = createRequire(import.meta.url)('ws') as {
  Receiver: new (options: Readonly<Record<string, unknown>>) => Writable;
};

const MiB = 1 << 20;
/** What a socket hands on at a time. */
const chunkBytes = 64 * 1024;
const fragments = 200_000;
const rounds = 7;

/** Takes what a client sends; undefined when it did, else why not. */
interface Side {
  readonly name: string;
  open(): (chunk: Buffer) => Promise<string | undefined>;
}

const ours: Side = {
  name: 'ours',
  open() {
    const reader = new WebSocketFrameReader({ fromClient: true });
    return async (chunk) => {
      // Parts are handed on, as the streaming server does, and not kept.
      for (const _ of reader.read(chunk));
      return undefined;
    };
  },
};

/** With our bound for a message; a bound for fragments of 0 is none. */
const theirs = (maxFragments: number): Side => ({
  name: maxFragments === 0 ? 'ws without a bound for fragments' : 'ws',
  open() {
    const receiver = new Receiver({
      isServer: true,
      maxPayload: webSocketLimits.messageBytes,
      maxBufferedChunks: 256 * 1024,
      maxFragments,
    });
    let refusal: string | undefined;
    receiver.on('error', (error: Error) => {
      refusal = error.message;
    });
    return async (chunk) => {
      await new Promise<void>((resolve) => receiver.write(chunk, () => resolve()));
      await turn();
      return refusal;
    };
  },
});
/** The default of `ws`. */
const defaultFragments = 16 * 1024;

export const websocket: Bench = {
  name: 'websocket',
  summary: 'our WebSocket frames against ws: what a client can make them hold',
  async run({ note }) {
    const sides = [ours, theirs(defaultFragments)];
    const measures: Measure[] = [];
    for (const side of [...sides, theirs(0)]) measures.push(await heldByFragments(side, note));
    for (const side of sides) measures.push(await heldByMessage(side));
    const samples = new Map(sides.map((side) => [side, [] as number[]]));
    for (let round = 0; round < rounds; round++) {
      for (const side of sides) samples.get(side)?.push(await readingCost(side));
    }
    for (const [{ name }, values] of samples) {
      measures.push(medianOf(`CPU of reading a MiB in frames of 4 KiB: ${name}`, 'µs', values));
    }
    return measures;
  },
};

const frame = (opcode: number, data: Buffer, fin: boolean): Buffer =>
  Buffer.concat(encodeFrame(opcode, data, { mask: true, fin }));

/** A message in fragments of a byte that does not end. */
async function heldByFragments({ name, open }: Side, note: (text: string) => void): Promise<Measure> {
  const send = open();
  const one = frame(Opcode.continuation, Buffer.from('x'), false);
  const perChunk = Math.floor(chunkBytes / one.length);
  await send(frame(Opcode.binary, Buffer.from('x'), false));
  const before = heldBytes();
  let sent = 0;
  while (sent < fragments) {
    const refusal = await send(Buffer.concat(Array<Buffer>(perChunk).fill(one)));
    sent += perChunk;
    if (refusal === undefined) continue;
    note(`${name} ends the connection after ${defaultFragments} fragments: ${refusal}`);
    break;
  }
  const heldKb = (heldBytes() - before) / 1000;
  return { name: `held for fragments of a byte, at most ${fragments}: ${name}`, unit: 'kB', value: heldKb };
}

/** A message of nearly the largest size that does not end. */
async function heldByMessage({ name, open }: Side): Promise<Measure> {
  const send = open();
  const before = heldBytes();
  await send(frame(Opcode.binary, Buffer.alloc(chunkBytes), false));
  for (let sent = chunkBytes; sent < webSocketLimits.messageBytes - MiB; sent += chunkBytes) {
    await send(frame(Opcode.continuation, Buffer.alloc(chunkBytes), false));
  }
  const heldKb = (heldBytes() - before) / 1000;
  return { name: `held for a message of 31 MiB that does not end: ${name}`, unit: 'kB', value: heldKb };
}

async function readingCost({ open }: Side): Promise<number> {
  const send = open();
  const whole = frame(Opcode.binary, Buffer.alloc(4096, 'x'), true);
  const chunks = Array.from({ length: (16 * MiB) / chunkBytes }, () =>
    Buffer.concat(Array<Buffer>(chunkBytes / 4096).fill(whole)),
  );
  const before = process.cpuUsage();
  for (const chunk of chunks) await send(chunk);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 16;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
