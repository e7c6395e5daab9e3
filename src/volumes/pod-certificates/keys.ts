/** Makes the keys of pod certificates; RSA keys off the main thread, as they take up to seconds. */
import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { Gate } from '../../async/index.js';
import { makeStubRequest } from '../../x509/certificate.js';

const generate = promisify(generateKeyPair);
/** One at a time: the threads that make keys are the few that also read and write all files. */
const slowKeys = new Gate(1);

/** A key of a pod, which is secret, and the proof that this node has it. */
export interface PodKey {
  /** PKCS#8. */
  readonly keyPem: string;
  /** A PKCS#10 request in DER and base64. */
  readonly stubRequest: string;
}

export async function makePodKey(keyType: string, signal?: AbortSignal): Promise<PodKey> {
  const key = await privateKey(keyType, signal);
  return {
    keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    stubRequest: makeStubRequest(key).toString('base64'),
  };
}

async function privateKey(keyType: string, signal: AbortSignal | undefined): Promise<KeyObject> {
  switch (keyType) {
    case 'RSA3072':
      return rsaKey(3072, signal);
    case 'RSA4096':
      return rsaKey(4096, signal);
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

async function rsaKey(modulusLength: number, signal: AbortSignal | undefined): Promise<KeyObject> {
  const turn = signal === undefined ? {} : { signal };
  return (await slowKeys.run(() => generate('rsa', { modulusLength }), turn)).privateKey;
}
