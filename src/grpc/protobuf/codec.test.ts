/** Tests the codec against bytes that were worked out by hand from the protobuf encoding guide. */
import { describe, expect, it } from 'vitest';
import { Envelope, TaskExit } from '../../cri/gen/containerd-events.js';
import {
  ContainerConfig,
  ContainerState,
  ContainerStatus,
  ExecSyncResponse,
  LinuxContainerResources,
  LinuxContainerUser,
  ListContainersRequest,
  PodSandboxConfig,
  PortForwardRequest,
  PsiData,
  StopContainerRequest,
  UInt64Value,
  VersionResponse,
} from '../../cri/gen/cri.js';
import { type FieldRow, MessageType } from './codec.js';
import { WireError } from './wire.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

interface Everything {
  big: bigint;
  ubig: bigint;
  nested?: Everything | undefined;
  many: Everything[];
  counts: Record<string, number>;
  messages: Record<string, Everything>;
  doubles: number[];
  flags: boolean[];
}
const rows: FieldRow[] = [
  [1, 'big', 'bigint64'],
  [2, 'ubig', 'biguint64'],
  [3, 'nested', () => Everything],
  [4, 'many', () => Everything, 'repeated'],
  [5, 'counts', 'int32', 'map'],
  [6, 'messages', () => Everything, 'map'],
  [7, 'doubles', 'double', 'repeated'],
  [16, 'flags', 'bool', 'repeated'],
];
const Everything: MessageType<Everything> = new MessageType('test.Everything', rows);

describe('encoding, byte by byte', () => {
  const cases: [rule: string, encoded: Buffer, bytes: string][] = [
    ['an empty message is no bytes', VersionResponse.encode({}), ''],
    ['a string has a tag and a length', VersionResponse.encode({ version: '0.1.0' }), '0a 05 302e312e30'],
    ['default values are omitted', StopContainerRequest.encode({ containerId: '', timeout: 0 }), ''],
    [
      'the length of a string is that of its UTF-8 bytes',
      VersionResponse.encode({ version: 'é' }),
      '0a 02 c3a9',
    ],
    ['int64 takes as many bytes as needed', StopContainerRequest.encode({ timeout: 300 }), '10 ac02'],
    [
      'a negative int64 takes ten bytes',
      StopContainerRequest.encode({ timeout: -1 }),
      '10 ffffffffffffffffff01',
    ],
    [
      'a negative int64 beyond 32 bits',
      StopContainerRequest.encode({ timeout: -(2 ** 32) }),
      '10 80808080f0ffffffff01',
    ],
    [
      'int64 above its range is clamped',
      LinuxContainerResources.encode({ memoryLimitInBytes: 2 ** 63 }),
      '20 ffffffffffffffff7f',
    ],
    [
      'int64 below its range is clamped',
      LinuxContainerResources.encode({ cpuQuota: -(2 ** 64) }),
      '10 80808080808080808001',
    ],
    ['uint64 above its range is clamped', UInt64Value.encode({ value: 2 ** 65 }), '08 ffffffffffffffffff01'],
    [
      'a negative int32 takes ten bytes',
      ExecSyncResponse.encode({ exitCode: -1 }),
      '18 ffffffffffffffffff01',
    ],
    ['bytes have a length', ExecSyncResponse.encode({ stdout: hex('00ff') }), '0a 02 00ff'],
    ['repeated scalars are packed', PortForwardRequest.encode({ port: [80, 8080] }), '12 03 50 903f'],
    [
      'repeated int64 are packed',
      LinuxContainerUser.encode({ supplementalGroups: [1, -1] }),
      '1a 0b 01 ffffffffffffffffff01',
    ],
    [
      'a nested message has a length',
      ListContainersRequest.encode({ filter: { state: { state: ContainerState.CONTAINER_RUNNING } } }),
      '0a 04 12 02 08 01',
    ],
    ['an empty nested message is present', ListContainersRequest.encode({ filter: {} }), '0a 00'],
    [
      'map entries are messages of key and value',
      PodSandboxConfig.encode({ labels: { a: 'b' } }),
      '32 06 0a 01 61 12 01 62',
    ],
    ['map entries keep empty values', PodSandboxConfig.encode({ labels: { a: '' } }), '32 05 0a 01 61 12 00'],
    [
      'field numbers above 15 take two tag bytes',
      ContainerConfig.encode({ cdiDevices: [{ name: 'x' }] }),
      '8a01 03 0a 01 78',
    ],
    ['bigint fields take bigint', ContainerStatus.encode({ createdAt: 2n ** 62n }), '20 808080808080808040'],
    ['bigint fields take number', ContainerStatus.encode({ createdAt: 5 }), '20 05'],
    ['doubles are eight little-endian bytes', PsiData.encode({ avg10: 1.5 }), '11 000000000000f83f'],
  ];
  it.each(cases)('%s', (_, encoded, bytes) => {
    expect(encoded.toString('hex')).toBe(bytes.replaceAll(' ', ''));
  });

  it('moves a nested message when its length needs more than one byte', () => {
    for (const length of [127, 128, 16_383, 16_384, 100_000]) {
      const config = { metadata: { name: 'x'.repeat(length) }, logPath: 'after' };
      expect(ContainerConfig.decode(ContainerConfig.encode(config))).toEqual(ContainerConfig.create(config));
    }
  });

  it('names the field of a value that does not fit', () => {
    const wrong = JSON.parse('{"metadata":{"attempt":"1"}}');
    expect(() => ContainerConfig.encode(wrong)).toThrow(
      'runtime.v1.ContainerMetadata.attempt: expected a number, got 1',
    );
    expect(() => ContainerConfig.encode({ metadata: { attempt: -1 } })).toThrow(
      /attempt: expected a 32-bit integer/,
    );
    expect(() => StopContainerRequest.encode({ timeout: Number.NaN })).toThrow(/timeout: expected a number/);
  });
});

describe('decoding', () => {
  it('gives absent fields their defaults and leaves absent messages undefined', () => {
    expect(ContainerStatus.decode(hex(''))).toStrictEqual({
      id: '',
      metadata: undefined,
      state: 0,
      createdAt: 0n,
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      image: undefined,
      imageRef: '',
      reason: '',
      message: '',
      labels: {},
      annotations: {},
      mounts: [],
      logPath: '',
      resources: undefined,
      imageId: '',
      user: undefined,
      stopSignal: 0,
    });
  });

  const skipped: [wireType: string, bytes: string][] = [
    ['varint', 'f87f 2a'],
    ['64 bits', 'f97f 0102030405060708'],
    ['bytes', 'fa7f 03 010203'],
    ['32 bits', 'fd7f 01020304'],
    ['a group with a group inside', 'fb7f 08 01 0b 10 01 0c fc7f'],
  ];
  it.each(skipped)('skips an unknown field of wire type %s', (_, bytes) => {
    expect(VersionResponse.decode(hex(`${bytes} 0a 01 31 ${bytes}`)).version).toBe('1');
  });

  it('skips a known field with another wire type', () => {
    expect(VersionResponse.decode(hex('08 05 12 01 61'))).toEqual(
      VersionResponse.create({ runtimeName: 'a' }),
    );
  });

  it('reads repeated scalars packed, unpacked and mixed', () => {
    expect(PortForwardRequest.decode(hex('10 50 12 03 51 903f 10 52')).port).toEqual([80, 81, 8080, 82]);
  });

  it('merges a message that occurs twice', () => {
    const { filter } = ListContainersRequest.decode(hex('0a 03 0a 01 61 0a 03 1a 01 62'));
    expect(filter).toMatchObject({ id: 'a', podSandboxId: 'b' });
  });

  it('gives an absent key or value of a map entry its default, and keeps the last of two equal keys', () => {
    expect(PodSandboxConfig.decode(hex('32 00')).labels).toEqual({ '': '' });
    const twice = hex('32 06 0a 01 61 12 01 62 32 06 0a 01 61 12 01 63');
    expect(PodSandboxConfig.decode(twice).labels).toEqual({ a: 'c' });
  });

  it('keeps the key __proto__ of a map as data', () => {
    const encoded = PodSandboxConfig.encode({ labels: JSON.parse('{"__proto__":"x"}') });
    const { labels } = PodSandboxConfig.decode(encoded);
    expect(Object.entries(labels)).toEqual([['__proto__', 'x']]);
  });

  it('keeps unknown enum values as numbers', () => {
    expect(ContainerStatus.decode(hex('18 63')).state).toBe(99);
  });

  it('approximates 64-bit numbers beyond 2^53', () => {
    expect(UInt64Value.decode(hex('08 ffffffffffffffffff01')).value).toBe(2 ** 64);
    expect(LinuxContainerResources.decode(hex('20 ffffffffffffffff7f')).memoryLimitInBytes).toBe(2 ** 63);
  });

  it('does not keep the input alive through bytes fields', () => {
    const input = hex('0a 02 6162');
    const { stdout } = ExecSyncResponse.decode(input);
    input.fill(0);
    expect(Buffer.from(stdout).toString()).toBe('ab');
  });

  const malformed: [rule: string, bytes: string, message: string][] = [
    ['a truncated tag', '8a', 'truncated: expected 2 bytes at offset 0, 1 left'],
    ['a length without its bytes', '0a 05 61', 'truncated: expected 5 bytes at offset 2, 1 left'],
    ['a nested message longer than its parent', '0a 02 0a 7f', 'truncated'],
    ['a length beyond any buffer', '0a ffffffff0f', 'truncated'],
    ['a truncated varint', '10 ff', 'truncated'],
    ['a varint that does not end', '10 ffffffffffffffffffff01', 'varint longer than 10 bytes'],
    ['field number 0', '00 00', 'field number 0'],
    ['an end of group without a start', '0c', 'unexpected wire type 4'],
    ['a wire type that does not exist', '0f', 'unexpected wire type 7'],
    ['a group that never ends', 'fb7f 08 01', 'truncated'],
    ['a group ended by another', 'fb7f 0c', 'mismatched end of group 1'],
  ];
  it.each(malformed)('refuses %s', (_, bytes, message) => {
    expect(() => ContainerConfig.decode(hex(bytes))).toThrow(WireError);
    expect(() => ContainerConfig.decode(hex(bytes))).toThrow(`runtime.v1.ContainerConfig: ${message}`);
  });

  it('reads every truncation as a shorter message or throws WireError', () => {
    const whole = ContainerStatus.encode({ id: 'abc', metadata: { name: 'n', attempt: 3 }, createdAt: 77n });
    for (let end = 0; end < whole.length; end++) {
      try {
        ContainerStatus.decode(whole.subarray(0, end));
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    }
  });

  it('refuses more than a hundred nested messages', () => {
    let bytes = Buffer.alloc(0);
    for (let depth = 0; depth < 101; depth++) {
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
      bytes = Buffer.concat([Buffer.from([0x1a, ...length]), bytes]);
    }
    expect(() => Everything.decode(bytes)).toThrow('nested deeper than 100 messages');
  });
});

describe('round trips', () => {
  it('keeps every kind of field', () => {
    const message = Everything.create({
      big: -(2n ** 63n),
      ubig: 2n ** 64n - 1n,
      nested: { big: -1n, many: [{}, { doubles: [0, -0, 1e300, Number.NaN, Number.NEGATIVE_INFINITY] }] },
      counts: { minus: -5, zero: 0, max: 0x7fffffff },
      messages: { a: { flags: [true, false] }, b: {} },
      flags: [false, true],
    });
    expect(Everything.decode(Everything.encode(message))).toStrictEqual(message);
  });

  it.each([0, 1, -1, 127, 128, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53 - 1)])(
    'keeps the int64 %d',
    (timeout) => {
      expect(StopContainerRequest.decode(StopContainerRequest.encode({ timeout })).timeout).toBe(timeout);
    },
  );

  it('create converts numbers to bigint and completes nested messages', () => {
    const status = ContainerStatus.create({
      createdAt: 3,
      metadata: { name: 'n' },
      mounts: [{ readonly: true }],
    });
    expect(status.createdAt).toBe(3n);
    expect(status.metadata).toStrictEqual({ name: 'n', attempt: 0 });
    expect(status.mounts[0]?.uidMappings).toEqual([]);
  });

  it('reads containerd event payloads through Any', () => {
    const exit = TaskExit.encode({
      containerId: 'c',
      id: 'e',
      exitStatus: 137,
      exitedAt: { seconds: 1, nanos: 5 },
    });
    const envelope = Envelope.decode(
      Envelope.encode({
        topic: '/tasks/exit',
        event: { typeUrl: 'containerd.events.TaskExit', value: exit },
      }),
    );
    expect(TaskExit.decode(envelope.event?.value ?? new Uint8Array())).toMatchObject({
      id: 'e',
      exitStatus: 137,
    });
  });
});
