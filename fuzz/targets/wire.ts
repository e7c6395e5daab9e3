/** Binary protocols: frames, header blocks and messages, from clients, runtimes and servers. */
import type { IncomingHttpHeaders } from 'node:http2';
import { isDeepStrictEqual } from 'node:util';
import { deflateSync } from 'node:zlib';
import { readContainerdEvent } from '../../src/cri/containerd-events.js';
import * as eventMessages from '../../src/cri/gen/containerd-events.js';
import * as criMessages from '../../src/cri/gen/cri.js';
import { DbusFormatError } from '../../src/dbus/errors.js';
import { marshal } from '../../src/dbus/marshal.js';
import { DbusMessageReader, encodeMessage } from '../../src/dbus/message.js';
import type { DbusValue } from '../../src/dbus/values.js';
import { escapeMessage, timeoutMsOf, unescapeMessage } from '../../src/grpc/call-status.js';
import { GrpcError } from '../../src/grpc/errors.js';
import * as h2 from '../../src/grpc/h2/frames.js';
import { decodeHeaders, encodeHeaders } from '../../src/grpc/h2/hpack.js';
import { decodeHuffman } from '../../src/grpc/h2/huffman.js';
import { frameMessage, GrpcMessageReader } from '../../src/grpc/message-frames.js';
import type { MessageType } from '../../src/grpc/protobuf/codec.js';
import { WireError } from '../../src/grpc/protobuf/wire.js';
import { kubeMessage, openEnvelope, putInEnvelope } from '../../src/kube-protobuf/index.js';
import { objectKinds, objectMessage } from '../../src/kube-protobuf/objects.js';
import { everyField } from '../../src/kube-protobuf/test-every-field.js';
import { grpcStatusOf, healthStatus } from '../../src/probes/grpc-messages.js';
import { OutputFrameReader, outputFrame, parseWish } from '../../src/runtimes/process/attach-frames.js';
import { spdyDictionary } from '../../src/streaming/spdy/dictionary.js';
import * as spdy from '../../src/streaming/spdy/frames.js';
import * as spdyHeaders from '../../src/streaming/spdy/header-blocks.js';
import { TerminalSizeReader } from '../../src/streaming/terminal-sizes.js';
import * as webSocket from '../../src/streaming/websocket/frames.js';
import { chunksOf, holds, never, only, type Target, texts } from '../target.js';

/** What a reader gives for the input in one piece and in many, which must be the same, also in how it ends. */
function sameInPieces<T>(input: Buffer, read: (chunks: readonly Buffer[]) => T): T {
  const outcome = (chunks: readonly Buffer[]): { value?: T; error?: unknown } => {
    try {
      return { value: read(chunks) };
    } catch (error) {
      return { error };
    }
  };
  const whole = outcome([input]);
  const pieces = outcome(chunksOf(input));
  holds(
    isDeepStrictEqual(whole.value, pieces.value),
    'the input in pieces gives something else than as a whole',
  );
  if (whole.error !== undefined) throw whole.error;
  // Without an error there is a value.
  return whole.value as T;
}

const client = (opcode: number, text: string, fin = true): Buffer =>
  Buffer.concat(webSocket.encodeFrame(opcode, Buffer.from(text), { fin, mask: true }));

function joined(events: Iterable<webSocket.WebSocketEvent>): unknown[] {
  return [...events].map((event) => ({
    ...event,
    ...('data' in event ? { data: event.data.toString('hex') } : {}),
  }));
}

const webSocketFrames: Target = {
  name: 'websocket-frames',
  seeds: [
    client(2, '\u0000hello'),
    Buffer.concat([client(1, 'a', false), client(9, 'ping'), client(0, 'b')]),
    client(8, '\u0003\u00e8'),
    client(2, 'x'.repeat(300)),
    client(2, 'y'.repeat(70_000)).subarray(0, 600),
  ],
  refuses: only(webSocket.WebSocketError),
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new webSocket.WebSocketFrameReader({ fromClient: true });
      return chunks.flatMap((chunk) => joined(reader.read(chunk)));
    });
  },
};

const spdyBlock = new spdyHeaders.HeaderBlockWriter().write(
  new Map([
    ['streamtype', 'stdin'],
    ['port', '80'],
  ]),
);

const spdyFrames: Target = {
  name: 'spdy-frames',
  seeds: [
    spdy.synStreamFrame(1, spdyBlock, false),
    Buffer.concat([spdy.synReplyFrame(1, spdyBlock), spdy.rstStreamFrame(1, 5), spdy.pingFrame(2)]),
    Buffer.concat([spdy.goAwayFrame(3), spdy.settingsFrame(65_536), spdy.windowUpdateFrame(1, 100)]),
    Buffer.from('0000000101000005hello', 'latin1'),
    Buffer.from([0, 0, 0, 1, 1, 0, 0, 3, 97, 98, 99]),
  ],
  refuses: only(spdy.SpdyProtocolError),
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new spdy.SpdyFrameReader();
      const frames = chunks.flatMap((chunk) => [...reader.read(chunk)]);
      // Data is handed on as it comes.
      const data = frames.flatMap((frame) => (frame.kind === 'data' ? [frame.bytes] : []));
      return {
        data: Buffer.concat(data).toString('hex'),
        others: frames.filter(({ kind }) => kind !== 'data').map((frame) => JSON.stringify(frame)),
      };
    });
  },
};

const spdyHeaderBlocks: Target = {
  name: 'spdy-header-blocks',
  seeds: [
    spdyBlock,
    deflateSync(spdyHeaders.encodeHeaders(new Map([['streamtype', 'error']])), {
      dictionary: spdyDictionary,
    }),
    deflateSync(Buffer.alloc(100_000), { dictionary: spdyDictionary }),
  ],
  refuses: only(spdy.SpdyProtocolError),
  async run(input) {
    const reader = new spdyHeaders.HeaderBlockReader();
    try {
      await reader.read(input);
    } finally {
      reader.close();
    }
  },
};

const spdyHeaderText: Target = {
  name: 'spdy-header-text',
  seeds: [
    spdyHeaders.encodeHeaders(
      new Map([
        ['streamtype', 'data'],
        ['requestid', '7'],
      ]),
    ),
  ],
  refuses: only(spdy.SpdyProtocolError),
  run(input) {
    const headers = spdyHeaders.decodeHeaders(input);
    holds(
      isDeepStrictEqual(spdyHeaders.decodeHeaders(spdyHeaders.encodeHeaders(headers)), headers),
      'decode(encode(headers)) is headers',
    );
  },
};

const h2Block = encodeHeaders({
  ':status': '200',
  'content-type': 'application/grpc',
  'grpc-status': '0',
  x: 'é',
});

const h2Frames: Target = {
  name: 'h2-frames',
  seeds: [
    h2.frame(h2.frameTypes.headers, h2.flags.endHeaders, 1, h2Block),
    h2.frame(
      h2.frameTypes.headers,
      h2.flags.padded | h2.flags.priority,
      1,
      Buffer.from([2, 0, 0, 0, 0, 1, 0x88, 0, 0]),
    ),
    Buffer.concat([h2.settingsFrame([[3, 100]]), h2.numberFrame(h2.frameTypes.windowUpdate, 0, 1000)]),
    h2.frame(h2.frameTypes.data, h2.flags.padded, 3, Buffer.from([1, 104, 105, 0])),
  ],
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new h2.Http2FrameReader();
      return chunks.flatMap((chunk) =>
        [...reader.push(chunk)].map((frame) => ({ ...frame, content: h2.contentOf(frame).toString('hex') })),
      );
    });
  },
};

const hpack: Target = {
  name: 'hpack',
  seeds: [
    h2Block,
    Buffer.from([0x88, 0x5f, 0x8b, 0x1d, 0x75, 0xd0, 0x62, 0x0d, 0x26, 0x3d, 0x4c, 0x4d, 0x65, 0x64]),
    Buffer.from([0x00, 0x88, 0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f, 0x01, 0x30]),
  ],
  run(input) {
    const headers = decodeHeaders(input);
    holds(
      isDeepStrictEqual(decodeHeaders(encodeHeaders(headers)), headers),
      'decode(encode(headers)) is headers',
    );
  },
};

const huffman: Target = {
  name: 'huffman',
  seeds: [
    Buffer.from([0x1d, 0x75, 0xd0, 0x62, 0x0d, 0x26, 0x3d, 0x4c, 0x4d, 0x65, 0x64]),
    Buffer.from([0x9a, 0xca]),
  ],
  run(input) {
    holds(decodeHuffman(input).length * 5 <= input.length * 8, 'a code has five bits at least');
  },
};

const grpcFrames: Target = {
  name: 'grpc-frames',
  seeds: [
    frameMessage(Buffer.from('hello')),
    Buffer.concat([frameMessage(Buffer.alloc(0)), frameMessage(Buffer.alloc(300, 1))]),
  ],
  refuses: only(GrpcError),
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new GrpcMessageReader(4096);
      const messages: string[] = [];
      for (const chunk of chunks) {
        reader.push(chunk);
        for (let message = reader.next(); message !== undefined; message = reader.next()) {
          messages.push(Buffer.from(message).toString('hex'));
        }
      }
      return { messages, isInside: reader.isInside };
    });
  },
};

function messageTypes(module: object): MessageType<object>[] {
  return Object.values(module).filter(
    (value): value is MessageType<object> =>
      typeof value === 'object' && 'decode' in value && 'encode' in value,
  );
}

/** The first byte of an input says which message the others are. */
function messagesTarget(
  name: string,
  types: readonly MessageType<object>[],
  seeds: readonly Buffer[],
): Target {
  return {
    name,
    seeds,
    refuses: only(WireError),
    run(input) {
      const type = types[(input[0] ?? 0) % types.length];
      if (type === undefined) return;
      const message = type.decode(input.subarray(1));
      const again = type.decode(type.encode(message));
      holds(isDeepStrictEqual(again, message), `decode(encode(message)) is the message (${type.name})`);
    },
  };
}

/** A message in which everything is set once, as deep as it goes. */
function filled(type: MessageType<object>, depth = 0): object {
  const samples: Readonly<Record<string, unknown>> = {
    string: 'text',
    bytes: Buffer.from('bytes'),
    bool: true,
    double: 0.5,
    bigint64: 5n,
    biguint64: 6n,
  };
  const entries = type.rows.flatMap(([, property, kind, shape]) => {
    if (typeof kind === 'function' && depth > 3) return [];
    const value = typeof kind === 'function' ? filled(kind(), depth + 1) : (samples[kind] ?? 7);
    return [[property, shape === 'repeated' ? [value] : shape === 'map' ? { key: value } : value]];
  });
  return Object.fromEntries(entries);
}

const criTypes = messageTypes(criMessages);
const eventTypes = messageTypes(eventMessages);
const seedsOf = (types: readonly MessageType<object>[]): Buffer[] =>
  types.map((type, index) => Buffer.concat([Buffer.from([index]), type.encode(filled(type))]));

const containerdEvents: Target = {
  name: 'containerd-events',
  seeds: ['/tasks/start', '/tasks/exit', '/tasks/oom', '/containers/delete'].map((topic) =>
    Buffer.concat([Buffer.from(`${topic}\n`), Buffer.from('0a03616263100118022205616263', 'hex')]),
  ),
  words: ['/tasks/delete', '/tasks/paused'],
  refuses: only(WireError),
  run(input) {
    const end = Math.max(0, input.indexOf(10));
    readContainerdEvent({
      topic: input.toString('utf8', 0, end),
      namespace: 'k8s.io',
      timestamp: undefined,
      event: { typeUrl: '', value: input.subarray(end + 1) },
    });
  },
};

const podMessage = kubeMessage<object>('Pod');
const kubeObjects: Target = {
  name: 'kube-protobuf',
  seeds: [
    { apiVersion: 'v1', kind: 'Pod', bytes: podMessage.encode(everyField(podMessage)) },
    { apiVersion: 'v1', kind: 'Pod', bytes: podMessage.encode({ metadata: { name: 'a' }, spec: {} }) },
    ...objectKinds.flatMap(([apiVersion, kind]) => {
      const message = objectMessage(apiVersion, kind);
      if (message === undefined) return [];
      return [{ apiVersion, kind, bytes: message.encode(everyField(message)) }];
    }),
  ].map(putInEnvelope),
  refuses: only(WireError),
  run(input) {
    const { apiVersion, kind, bytes } = openEnvelope(input);
    const message = objectMessage(apiVersion, kind) ?? podMessage;
    const once = message.encode(message.decode(bytes));
    const twice = message.encode(message.decode(once));
    holds(once.equals(twice), 'an object that was read and written is another one when it is read again');
  },
};

const grpcStatus: Target = {
  name: 'grpc-status',
  seeds: texts('200\n0\nnot%20found\n10S', '503\n14\n%E2%82%AC%\n99999999H', '\n\n%%%zz\n'),
  refuses: never,
  run(input) {
    const [status = '', code = '', message = '', timeout = ''] = input.toString('latin1').split('\n');
    grpcStatusOf({ ':status': status } as IncomingHttpHeaders, {
      'grpc-status': code,
      'grpc-message': message,
    });
    healthStatus(input);
    timeoutMsOf(timeout);
    unescapeMessage(message);
    const text = input.toString('utf8');
    holds(
      unescapeMessage(escapeMessage(text)) === Buffer.from(text).toString('utf8'),
      'unescape(escape(text)) is text',
    );
  },
};

const attachFrames: Target = {
  name: 'attach-frames',
  seeds: [outputFrame('stdout', Buffer.from('hi')), outputFrame('stderr', Buffer.alloc(0))],
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new OutputFrameReader();
      return chunks.flatMap((chunk) =>
        [...reader.read(chunk)].map(({ stream, bytes }) => `${stream} ${bytes.toString('hex')}`),
      );
    });
  },
};

const attachWish: Target = {
  name: 'attach-wish',
  seeds: texts('{"stdin":true,"tty":false}\nrest', '{"stdin":false}\n'),
  // It comes from the agent's own side of a socket that only the agent can open.
  refuses: (error) => error instanceof Error,
  run: (input) => void parseWish(input),
};

const terminalSizes: Target = {
  name: 'terminal-sizes',
  seeds: texts('{"Width":80,"Height":24}{"Width":1,"Height":65535}', ' {"Width": 80}\n'),
  words: ['"Width"', '"Height"', '}', '{'],
  refuses: never,
  run(input) {
    const text = input.toString('utf8');
    const whole = [...new TerminalSizeReader().read(text)];
    // Longer texts without an end are dropped, and where depends on the pieces.
    if (text.length > 200) return;
    const reader = new TerminalSizeReader();
    const pieces = [...text].flatMap((char) => [...reader.read(char)]);
    holds(isDeepStrictEqual(whole, pieces), 'sizes are the same character by character');
  },
};

const dbusSignal = encodeMessage({
  kind: 'signal',
  serial: 3,
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
  member: 'JobRemoved',
  signature: 'uoss',
  body: [7, '/org/freedesktop/systemd1/job/7', 'a.slice', 'done'],
});
const dbusCall = encodeMessage({
  kind: 'call',
  serial: 4,
  path: '/a',
  interface: 'a.b',
  member: 'StartTransientUnit',
  signature: 'ssa(sv)a(sa(sv))ayx',
  body: [
    'a.slice',
    'replace',
    [
      ['Wants', { signature: 'as', value: ['-.slice'] }],
      ['MemoryMax', { signature: 't', value: 5n }],
    ],
    [['b.slice', [['X', { signature: 'v', value: { signature: 'b', value: true } }]]]],
    Buffer.from([1, 2]),
    -1n,
  ],
});
const dbusReply = encodeMessage({
  kind: 'reply',
  serial: 5,
  replySerial: 4,
  signature: 'a{sv}d',
  body: [[], 0.5],
});

const dbusMessages: Target = {
  name: 'dbus-messages',
  seeds: [dbusSignal, dbusCall, dbusReply, Buffer.concat([dbusReply, dbusSignal])],
  words: ['a(sv)', 'a{sv}', 'aaaaaaaa', 'v', Buffer.from('017600', 'hex')],
  refuses: only(DbusFormatError),
  run(input) {
    sameInPieces(input, (chunks) => {
      const reader = new DbusMessageReader();
      return chunks.flatMap((chunk) =>
        [...reader.read(chunk)].map(({ readBody, ...header }) => {
          const body = dbusBody(readBody);
          if (body === undefined) return header;
          // A body that was read fits its signature, so that it can be written again.
          const again = marshal(header.signature, body);
          return { ...header, again: again.toString('hex') };
        }),
      );
    });
  },
};

/** Undefined where the body alone is malformed: the next message is still read. */
function dbusBody(readBody: () => readonly DbusValue[]): readonly DbusValue[] | undefined {
  try {
    return readBody();
  } catch (error) {
    if (error instanceof DbusFormatError) return undefined;
    throw error;
  }
}

export const wireTargets: readonly Target[] = [
  webSocketFrames,
  spdyFrames,
  spdyHeaderBlocks,
  spdyHeaderText,
  h2Frames,
  hpack,
  huffman,
  grpcFrames,
  messagesTarget('cri-messages', criTypes, seedsOf(criTypes)),
  messagesTarget('containerd-messages', eventTypes, seedsOf(eventTypes)),
  containerdEvents,
  kubeObjects,
  grpcStatus,
  dbusMessages,
  attachFrames,
  attachWish,
  terminalSizes,
];
