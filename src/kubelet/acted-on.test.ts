import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { configFields, flagSpecs, inertGates } from '../config/index.js';
import { actedOnFields, actedOnGates, clusterFlags, inertFlags, partlyActedOnGates } from './acted-on.js';

const src = join(import.meta.dirname, '..');
/** Gates that the configuration reads to let other settings through. */
const readByConfiguration = [
  'CustomCPUCFSQuotaPeriod',
  'DefaultPodSysctls',
  'KubeletCrashLoopBackOffMax',
  'LoggingAlphaOptions',
  'LoggingBetaOptions',
  'RotateKubeletServerCertificate',
];

it('names exactly the gates that are read', () => {
  const read = new Set<string>(readByConfiguration);
  for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts') || name.startsWith('config')) continue;
    for (const [, gate = ''] of readFileSync(join(src, name), 'utf8').matchAll(
      /\b(?:gates|featureGates)\.enabled\('(\w+)'\)/g,
    ))
      read.add(gate);
  }
  expect([...actedOnGates].sort()).toEqual([...read].sort());
});

it('names only gates that are read as those with a part of their effect', () => {
  expect([...partlyActedOnGates.keys()].filter((gate) => !actedOnGates.has(gate))).toEqual([]);
});

it('a gate that nobody reads is told to have no effect', () => {
  const requested = { ClientsAllowCBOR: true, DRANodeAllocatableResources: true };
  expect(inertGates(requested, actedOnGates)).toEqual(['featureGates.ClientsAllowCBOR']);
});

it('names only settings that exist', () => {
  const known = new Set(
    configFields.flatMap(({ path }) =>
      path.split('.').map((_, end, parts) => parts.slice(0, end + 1).join('.')),
    ),
  );
  expect([...actedOnFields].filter((field) => !known.has(field))).toEqual([]);
});

/** What ships outside the configuration, by file; only there does a setting have an effect. */
const sources = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|(^|\/)test-/.test(name))
    .filter((name) => !name.startsWith('config/') && name !== 'kubelet/acted-on.ts')
    .map((name) => [name, readFileSync(join(src, name), 'utf8')]),
);
const readersOf = (word: string): string[] =>
  [...sources].filter(([, text]) => new RegExp(`\\b${word}\\b`).test(text)).map(([name]) => name);

/** Settings whose whole effect is in the configuration: a refusal to start, or the value of another setting. */
const insideConfiguration: Readonly<Record<string, string>> = {
  failCgroupV1: 'load.ts',
  mergeDefaultEvictionSettings: 'defaults.ts',
  reservedSystemCPUs: 'settle.ts',
};

/** Words that stand for something else wherever they are used. */
const otherMeanings: Readonly<Record<string, readonly string[]>> = {
  systemCgroups: ['resources/stats/provider.ts'],
  hairpinMode: ['runtimes/containerd/pod-network.ts'],
};
/** The same for words that are used all over. */
const commonWords = new Set(['contentType']);

it.each(configFields.map(({ path }) => path))(
  '%s is told to have an effect exactly if it has one',
  (path) => {
    const word = path.split('.').at(-1) ?? '';
    const isActedOn = path
      .split('.')
      .some((_, end, parts) => actedOnFields.has(parts.slice(0, end + 1).join('.')));
    const inside = insideConfiguration[path];
    if (inside !== undefined) {
      expect(isActedOn).toBe(true);
      expect(readFileSync(join(src, 'config', inside), 'utf8')).toContain(path);
      return;
    }
    if (commonWords.has(path)) return expect(isActedOn).toBe(false);
    const readers = readersOf(word).filter((name) => !otherMeanings[path]?.includes(name));
    expect(readers.length > 0, readers.join(', ')).toBe(isActedOn);
  },
);

const configurationFlags = ['configDir', 'lenientConfig', 'reportedVersion'];
const flagKeys = flagSpecs.flatMap(({ target }) => (target.to === 'kubelet' ? [target.key] : []));
it.each(flagKeys)('flag %s is told to have an effect exactly if it has one', (key) => {
  if (configurationFlags.includes(key)) return expect(inertFlags.has(key)).toBe(false);
  expect(readersOf(key).length > 0).toBe(!inertFlags.has(key));
});

it('flags of a cluster are read', () => {
  for (const key of clusterFlags) expect(readersOf(key)).not.toEqual([]);
});
