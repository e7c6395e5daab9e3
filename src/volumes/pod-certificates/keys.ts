/** Makes the keys of pod certificates; RSA keys off the main thread, as they take up to seconds. */
import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { makeStubRequest } from '../../x509/certificate.js';

const generateSlowly = promisify(generateKeyPair);

/** A key of a pod, which is secret, and the proof that this node has it. */
export interface PodKey {
  /** PKCS#8. */
  readonly keyPem: string;
  /** A PKCS#10 request in DER and base64. */
  readonly stubRequest: string;
}

export async function makePodKey(keyType: string): Promise<PodKey> {
  const key = await privateKey(keyType);
  return {
    keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    stubRequest: makeStubRequest(key).toString('base64'),
  };
}

async function privateKey(keyType: string): Promise<KeyObject> {
  switch (keyType) {
    case 'RSA3072':
      return (await generateSlowly('rsa', { modulusLength: 3072 })).privateKey;
    case 'RSA4096':
      return (await generateSlowly('rsa', { modulusLength: 4096 })).privateKey;
    case 'ECDSAP256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    case 'ECDSAP384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    case 'ECDSAP521':
      return generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey;
    case 'ED25519':
      return generateKeyPairSync('ed25519').privateKey;
    default:
      throw new Error(`unknown key type ${JSON.stringify(keyType)}`);
  }
}
