import { describe, expect, it } from 'vitest';
import type { UnitProperty } from '../../dbus/index.js';
import { sliceOf } from './names.js';
import { asSystemdRounds, cpuBits, sliceProperties, valueProperties } from './unit-properties.js';
import type { CgroupValues } from './values.js';

const hugePages = new Map<string, number>();
const infinity = 2n ** 64n - 1n;
const quota = (quotaMicros: number, periodMicros = 100_000) => ({ cpuQuota: { quotaMicros, periodMicros } });
const shown = (properties: readonly UnitProperty[]): unknown[] =>
  properties.map(({ name, signature, value }) => [name, signature, value]);

describe('sliceProperties', () => {
  const rows = (io: string): unknown[] => [
    ['Description', 's', 'libcontainer container kubepods-burstable.slice'],
    ['Wants', 'as', ['kubepods.slice']],
    ['MemoryAccounting', 'b', true],
    ['CPUAccounting', 'b', true],
    [io, 'b', true],
    ['TasksAccounting', 'b', true],
    ['DefaultDependencies', 'b', false],
  ];
  it.each([
    [2, 'IOAccounting'],
    [1, 'BlockIOAccounting'],
  ] as const)('version %d', (version, io) => {
    expect(shown(sliceProperties(sliceOf(['kubepods', 'burstable']), version))).toEqual(rows(io));
  });
});

describe('valueProperties', () => {
  const rows: [
    rule: string,
    values: Omit<CgroupValues, 'hugePages'>,
    v2: unknown[],
    v1?: unknown[],
    systemdVersion?: number,
  ][] = [
    ['nothing', {}, []],
    ['memory', { memoryLimitBytes: 5 }, [['MemoryMax', 't', 5n]], [['MemoryLimit', 't', 5n]]],
    [
      'no memory limit',
      { memoryLimitBytes: -1 },
      [['MemoryMax', 't', infinity]],
      [['MemoryLimit', 't', infinity]],
    ],
    ['memory that stays', { memoryLimitBytes: 0 }, []],
    ['shares', { cpuShares: 1024 }, [['CPUWeight', 't', 39n]], [['CPUShares', 't', 1024n]]],
    [
      'a quota',
      quota(150_000),
      [
        ['CPUQuotaPeriodUSec', 't', 100_000n],
        ['CPUQuotaPerSecUSec', 't', 1_500_000n],
      ],
    ],
    [
      'no quota',
      quota(-1),
      [
        ['CPUQuotaPeriodUSec', 't', 100_000n],
        ['CPUQuotaPerSecUSec', 't', infinity],
      ],
    ],
    [
      'a quota with an old systemd',
      quota(150_000),
      [['CPUQuotaPerSecUSec', 't', 1_500_000n]],
      undefined,
      241,
    ],
    ['processes', { pidsLimit: 7 }, [['TasksMax', 't', 7n]]],
    ['no processes', { pidsLimit: 0 }, [['TasksMax', 't', 1n]]],
    ['any number of processes', { pidsLimit: -1 }, [['TasksMax', 't', infinity]]],
    ['CPUs', { cpus: '0-3' }, [['AllowedCPUs', 'ay', new Uint8Array([0x0f])]]],
    ['CPUs with an old systemd', { cpus: '0-3' }, [], undefined, 243],
    ['CPUs with an unknown systemd', { cpus: '0-3' }, [], undefined, -1],
    [
      'protection',
      { unified: { 'memory.min': '1', 'memory.low': '2', 'memory.high': 'max' } },
      [
        ['MemoryMin', 't', 1n],
        ['MemoryLow', 't', 2n],
        ['MemoryHigh', 't', infinity],
      ],
      [],
    ],
  ];
  it.each(rows)('%s', (_, values, v2, v1 = v2, systemdVersion = 252) => {
    const of = (version: 1 | 2): unknown[] =>
      shown(valueProperties({ hugePages, ...values }, { version, systemdVersion }));
    expect(of(2)).toEqual(v2);
    expect(of(1)).toEqual(v1);
  });
});

describe('the quota that systemd can say', () => {
  it.each([
    ['15m', 1_500, 20_000n, 2_000],
    ['333m', 33_300, 340_000n, 34_000],
    ['1500m', 150_000, 1_500_000n, 150_000],
  ])('%s', (_, quotaMicros, perSecond, written) => {
    const values = { hugePages, ...quota(quotaMicros) };
    const properties = valueProperties(values, { version: 2, systemdVersion: 252 });
    expect(properties.at(-1)).toEqual({ name: 'CPUQuotaPerSecUSec', signature: 't', value: perSecond });
    expect(asSystemdRounds(values).cpuQuota).toEqual({ quotaMicros: written, periodMicros: 100_000 });
  });

  it('no quota stays none', () => {
    expect(asSystemdRounds({ hugePages, ...quota(-1) })).toEqual({ hugePages, ...quota(-1) });
    expect(asSystemdRounds({ hugePages })).toEqual({ hugePages });
  });
});

describe('cpuBits', () => {
  it.each([
    ['0-3', [0x0f]],
    ['0-9', [0xff, 0x03]],
    ['1,3-5', [0x3a]],
    ['8', [0x00, 0x01]],
  ])('%s', (list, bytes) => expect([...cpuBits(list)]).toEqual(bytes));

  it.each(['', 'a', '3-1', '0-999999', '0-99999'])('%j is no list', (list) => {
    expect(() => cpuBits(list)).toThrow('is not a list of CPUs');
  });
});
