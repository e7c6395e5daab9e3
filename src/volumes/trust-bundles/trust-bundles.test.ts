import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { normalizeCertificates } from './pem.js';
import { CachedTrustBundles, type VolumeTrustBundle } from './trust-bundles.js';

const signal = new AbortController().signal;

function pem(content: string, headers = ''): string {
  return `-----BEGIN CERTIFICATE-----\n${headers}${Buffer.from(content).toString('base64')}\n-----END CERTIFICATE-----\n`;
}

function contents(text: string): string[] {
  return [...text.matchAll(/-----BEGIN CERTIFICATE-----\n([^-]*)-----END CERTIFICATE-----\n/g)]
    .map(([, body = '']) => Buffer.from(body, 'base64').toString())
    .sort();
}

describe('normalizeCertificates', () => {
  const long = 'x'.repeat(200);
  const rows: [rule: string, texts: string[], expected: string[]][] = [
    ['equal certificates are merged', [pem('a') + pem('b'), pem('a')], ['a', 'b']],
    ['surrounding text is dropped', [`# ours\n${pem('a')}trailing`], ['a']],
    ['headers are dropped', [pem('a', 'Note: hello\n\n')], ['a']],
    ['other blocks are dropped', [pem('a').replaceAll('CERTIFICATE', 'PRIVATE KEY')], []],
    ['long certificates are split into lines', [pem(long)], [long]],
    ['nothing stays nothing', [''], []],
  ];
  it.each(rows)('%s', (_rule, texts, expected) => {
    const text = normalizeCertificates(texts, 'seed');
    expect(contents(text)).toEqual(expected);
    expect(text.split('\n').every((line) => line.length <= 64)).toBe(true);
  });

  it('keeps its order within a process and changes it in the next', () => {
    const texts = 'abcdefgh'.split('').map((name) => pem(name));
    expect(normalizeCertificates(texts, '1')).toBe(normalizeCertificates(texts.toReversed(), '1'));
    expect(normalizeCertificates(texts, '1')).not.toBe(normalizeCertificates(texts, '2'));
  });
});

describe('trust bundles', () => {
  const bundles: VolumeTrustBundle[] = [
    { name: 'plain', signerName: undefined, labels: {}, trustBundle: pem('plain') },
    { name: 'one', signerName: 'acme.com/ca', labels: { live: 'yes' }, trustBundle: pem('one') },
    { name: 'two', signerName: 'acme.com/ca', labels: {}, trustBundle: pem('two') },
  ];
  function create(maxPods = 10) {
    const clock = new VirtualClock();
    const known = [...bundles];
    let reads = 0;
    const cache = new CachedTrustBundles({
      clock,
      maxPods,
      source: {
        get: async (name) => {
          reads += 1;
          return known.find((bundle) => bundle.name === name);
        },
        list: async () => {
          reads += 1;
          return known;
        },
      },
    });
    const ask = (selection: Partial<Parameters<typeof cache.bundle>[0]>) =>
      cache.bundle({
        name: undefined,
        signerName: undefined,
        labelSelector: undefined,
        optional: false,
        signal,
        ...selection,
      });
    return { clock, cache, ask, known, reads: () => reads };
  }

  it('are found by name', async () => {
    expect(contents(await create().ask({ name: 'plain' }))).toEqual(['plain']);
  });

  it('are found by signer and labels; an empty selector matches all of the signer', async () => {
    const { ask } = create();
    expect(contents(await ask({ signerName: 'acme.com/ca', labelSelector: {} }))).toEqual(['one', 'two']);
    const labelSelector = { matchLabels: { live: 'yes' } };
    expect(contents(await ask({ signerName: 'acme.com/ca', labelSelector }))).toEqual(['one']);
  });

  it('that are missing are an error, or empty if optional', async () => {
    const { ask } = create();
    await expect(ask({ name: 'none' })).rejects.toThrow(
      'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found',
    );
    await expect(ask({ signerName: 'acme.com/ca' })).rejects.toThrow(
      'combination of signerName and labelSelector matched zero ClusterTrustBundles',
    );
    expect(await ask({ name: 'none', optional: true })).toBe('');
    expect(await ask({ signerName: 'x', labelSelector: {}, optional: true })).toBe('');
  });

  it('are read once per five minutes, and again after a change', async () => {
    const { ask, clock, cache, reads } = create();
    const first = await ask({ name: 'plain' });
    expect(await ask({ name: 'plain' })).toBe(first);
    expect(reads()).toBe(1);
    cache.invalidate();
    await ask({ name: 'plain' });
    expect(reads()).toBe(2);
    await clock.advance(5 * 60_000);
    await ask({ name: 'plain' });
    expect(reads()).toBe(3);
  });

  it('are cached in a bounded number', async () => {
    const { ask, reads } = create(1);
    for (const name of ['plain', 'one', 'two', 'plain']) await ask({ name });
    expect(reads()).toBe(4);
    await ask({ name: 'two' });
    expect(reads()).toBe(4);
  });
});
