import { describe, expect, it } from 'vitest';
import { applyDefaults, baselineConfiguration, emptySettings } from './defaults.js';
import { mergePatch } from './drop-ins.js';
import { resolveFeatureGates } from './feature-gates.js';
import { configFields } from './fields.js';
import { defaultKubeletFlags, flagSpecs } from './flag-table.js';
import { changedFlags, inertGates, inertSettings } from './inert.js';
import { maskSecrets, serializeConfiguration } from './serialize.js';
import { usage } from './usage.js';

const { gates } = resolveFeatureGates({});

describe('serializeConfiguration', () => {
  const json = serializeConfiguration(baselineConfiguration(gates));

  it('begins with kind and apiVersion', () => {
    expect(Object.keys(json).slice(0, 3)).toEqual(['kind', 'apiVersion', 'enableServer']);
  });
  const written: [path: string, value: unknown][] = [
    ['syncFrequency', '1m0s'],
    ['cpuCFSQuotaPeriod', '100ms'],
    ['imageMaximumGCAge', '0s'],
    ['shutdownGracePeriod', '0s'],
    ['readOnlyPort', 10255],
    ['mergeDefaultEvictionSettings', false],
    ['memorySwap', {}],
    [
      'logging',
      {
        format: 'text',
        flushFrequency: '5s',
        verbosity: 0,
        options: { text: { infoBufferSize: '0' }, json: { infoBufferSize: '0' } },
      },
    ],
    [
      'authentication',
      { x509: {}, webhook: { enabled: false, cacheTTL: '2m0s' }, anonymous: { enabled: true } },
    ],
    ['crashLoopBackOff', { maxContainerRestartPeriod: '5m0s' }],
    ['enforceNodeAllocatable', ['pods']],
  ];
  it.each(written)('writes %s', (path, value) => {
    expect(json[path]).toEqual(value);
  });
  it.each([
    'staticPodPath',
    'evictionHard',
    'clusterDNS',
    'runOnce',
    'podsPerCore',
    'tracing',
    'userNamespaces',
    'singleProcessOOMKill',
    'maxParallelImagePulls',
    'imageServiceEndpoint',
  ])('leaves %s out while it is empty', (path) => {
    expect(json).not.toHaveProperty(path);
  });
  it('writes an optional structure that exists', () => {
    const settings = emptySettings();
    settings.structs.add('tracing');
    expect(serializeConfiguration(applyDefaults(settings, gates)).tracing).toEqual({});
  });
  it('writes microseconds', () => {
    const config = { ...baselineConfiguration(gates), syncFrequency: 0.1 };
    expect(serializeConfiguration(config).syncFrequency).toBe('100µs');
  });
});

describe('maskSecrets', () => {
  it('hides header values and nothing else', () => {
    const config = baselineConfiguration(gates);
    config.staticPodURLHeader = { Authorization: ['s3cret', 'other'] };
    const masked = maskSecrets(config);
    expect(masked.staticPodURLHeader).toEqual({ Authorization: ['<masked>'] });
    expect({ ...masked, staticPodURLHeader: 0 }).toEqual({ ...config, staticPodURLHeader: 0 });
    expect(config.staticPodURLHeader.Authorization).toEqual(['s3cret', 'other']);
  });
});

describe('mergePatch', () => {
  const rows: [target: unknown, patch: unknown, merged: unknown][] = [
    [{ a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    [{ a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { b: 1, c: 3 } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
    [{ a: 1 }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    [{ a: 1 }, JSON.parse('{"__proto__": {"x": 1}}'), JSON.parse('{"a": 1, "__proto__": {"x": 1}}')],
  ];
  it.each(rows)('%j + %j', (target, patch, merged) => {
    expect(JSON.stringify(mergePatch(target, patch))).toBe(JSON.stringify(merged));
  });
});

describe('inertSettings', () => {
  it('names settings without effect, in table order', () => {
    const { paths, line } = inertSettings(
      new Set(['maxPods', 'authentication.webhook.cacheTTL', 'hairpinMode', 'logging.format']),
      new Set(['maxPods', 'logging']),
    );
    expect(paths).toEqual(['authentication.webhook.cacheTTL', 'hairpinMode']);
    expect(line).toBe('settings without effect in this build: authentication.webhook.cacheTTL, hairpinMode');
  });
  it('has no line when all settings have an effect', () => {
    expect(inertSettings(new Set(['maxPods']), new Set(['maxPods'])).line).toBeUndefined();
  });
});

describe('inertGates', () => {
  it.each([
    ['names a gate without effect', { EventedPLEG: true }, ['featureGates.EventedPLEG']],
    ['does not name a gate with an effect', { MemoryQoS: true }, []],
    ['does not name a gate that is set to its default', { EventedPLEG: false, ImageVolume: true }, []],
    ['names a gate that is switched off without effect', { EnvFiles: false }, ['featureGates.EnvFiles']],
    ['does not name the switches for a whole stage', { AllAlpha: true }, []],
  ])('%s', (_, requested: Record<string, boolean>, expected) => {
    expect(inertGates(requested, new Set(['MemoryQoS']))).toEqual(expected);
  });
});

describe('usage', () => {
  const text = usage({ command: 'nodelet agent' });
  it('names every flag', () => {
    for (const { name } of flagSpecs) expect(text).toContain(`--${name}`);
  });
  it('starts with the common flags', () => {
    expect(text.indexOf('--config TEXT')).toBeLessThan(text.indexOf('--max-pods N'));
  });
  it('shows defaults and fields', () => {
    expect(text).toMatch(/--max-pods N +Maximum number of pods on this node \[maxPods\] \(default 110\)/);
  });
});

describe('the field table', () => {
  it('has every path and flag once', () => {
    const paths = configFields.map((field) => field.path);
    expect(new Set(paths).size).toBe(paths.length);
    const flags = configFields.flatMap((field) => field.flag ?? []);
    expect(new Set(flags).size).toBe(flags.length);
  });
});

it('changedFlags names flags with a value that is not the default, only among the given ones', () => {
  const flags = {
    ...defaultKubeletFlags,
    runtimeCgroups: '/x',
    nodeLabels: { a: 'b' },
    cloudProvider: 'external',
  };
  expect(changedFlags(flags, new Set(['runtimeCgroups', 'nodeLabels', 'lockFile']))).toEqual([
    '--node-labels',
    '--runtime-cgroups',
  ]);
});
