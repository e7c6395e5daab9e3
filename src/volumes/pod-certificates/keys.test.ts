/** Keys of every type, with a request that proves them. */
import { createPrivateKey, createPublicKey, verify, X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { members, signRequestDer } from '../../x509/test-signing.js';
import { makePodKey } from './keys.js';

const kinds: [keyType: string, kind: string, detail: unknown, digest: string | undefined][] = [
  ['RSA3072', 'rsa', 3072, 'sha256'],
  ['RSA4096', 'rsa', 4096, 'sha256'],
  ['ECDSAP256', 'ec', 'prime256v1', 'sha256'],
  ['ECDSAP384', 'ec', 'secp384r1', 'sha384'],
  ['ECDSAP521', 'ec', 'secp521r1', 'sha512'],
  ['ED25519', 'ed25519', undefined, undefined],
];

it.each(kinds)(
  'makes an %s key',
  async (keyType, kind, detail, digest) => {
    const { keyPem, stubRequest } = await makePodKey(keyType);
    expect(keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const key = createPrivateKey(keyPem);
    expect(key.asymmetricKeyType).toBe(kind);
    const details = key.asymmetricKeyDetails;
    expect(details?.namedCurve ?? details?.modulusLength).toBe(detail);
    // RFC 2986: the signed part, its algorithm, and the signature with a byte of unused bits before it.
    const request = Buffer.from(stubRequest, 'base64');
    const [body, , signature] = members(request);
    const [, subject, publicKey] = members(body!);
    expect(subject).toEqual(Buffer.from([0x30, 0]));
    expect(publicKey).toEqual(createPublicKey(key).export({ type: 'spki', format: 'der' }));
    const bytes = signature!.subarray(signature!.length < 0x82 ? 3 : signature!.length < 0x104 ? 4 : 5);
    expect(verify(digest, body!, createPublicKey(key), bytes)).toBe(true);
    expect(new X509Certificate(signRequestDer(request, 0, 3_600_000)).checkPrivateKey(key)).toBe(true);
  },
  60_000,
);

it('refuses a type that it does not know', async () => {
  await expect(makePodKey('RSA1024')).rejects.toThrow('unknown key type "RSA1024"');
});

it('leaves threads to others, however many slow keys are wanted', async () => {
  const ended: string[] = [];
  const keys = Array.from({ length: 5 }, () => makePodKey('RSA3072').then(() => ended.push('key')));
  await settle();
  await stat('/').then(() => ended.push('file'));
  expect(ended).toEqual(['file']);
  await Promise.all(keys);
}, 120_000);

it('makes no slow key for one who has stopped waiting for its turn', async () => {
  const first = makePodKey('RSA3072');
  const stopping = new AbortController();
  const second = makePodKey('RSA3072', stopping.signal);
  stopping.abort();
  await expect(second).rejects.toThrow('context canceled');
  await first;
}, 60_000);
