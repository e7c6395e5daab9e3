/** Signs certificate requests of a simulated cluster, for this room's tests. */
import { type Clock, isCancelled, sleep } from '../../async/index.js';
import type { SimulatedKubeApi } from '../../kube-api/index.js';
import {
  type CertificateSigningRequest,
  generateKeyPem,
  makeCertificate,
  resources,
} from '../../kube-client/index.js';
import { signRequestDer } from '../../x509/test-signing.js';

/** A certificate for the request. */
export function signRequest(requestBase64: string, notBeforeMs: number, lifeMs: number): string {
  const text = Buffer.from(requestBase64, 'base64').toString('latin1');
  const der = Buffer.from(text.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  return signRequestDer(der, notBeforeMs, lifeMs);
}

export async function signingRequests(api: SimulatedKubeApi): Promise<CertificateSigningRequest[]> {
  return (await api.list(resources.certificateSigningRequests)).items;
}

export async function decide(
  api: SimulatedKubeApi,
  name: string,
  type: 'Approved' | 'Denied',
  message = '',
): Promise<void> {
  const body = { status: { conditions: [{ type, status: 'True', reason: 'Test', message }] } };
  const patch = { type: 'merge', body } as const;
  await api.patch(resources.certificateSigningRequests, { name }, patch, { subresource: 'approval' });
}

export async function issue(
  api: SimulatedKubeApi,
  name: string,
  nowMs: number,
  lifeMs: number,
): Promise<void> {
  const { spec } = await api.get(resources.certificateSigningRequests, { name });
  const certificate = Buffer.from(signRequest(spec.request, nowMs, lifeMs)).toString('base64');
  const patch = { type: 'merge', body: { status: { certificate } } } as const;
  await api.patch(resources.certificateSigningRequests, { name }, patch, { subresource: 'status' });
}

/** Approves and signs every request one second after it appears, until the signal aborts. */
export async function signAll(
  api: SimulatedKubeApi,
  clock: Clock,
  lifeMs: number,
  signal: AbortSignal,
): Promise<void> {
  const done = new Set<string>();
  try {
    // The server ends each watch after a while.
    for (;;) {
      for await (const event of api.watch(resources.certificateSigningRequests, { signal })) {
        const name = event.type === 'ADDED' ? (event.object.metadata.name ?? '') : '';
        if (name === '' || done.has(name)) continue;
        done.add(name);
        await sleep(clock, 1_000, signal);
        await decide(api, name, 'Approved');
        await issue(api, name, clock.now(), lifeMs);
      }
    }
  } catch (error) {
    if (!isCancelled(error)) throw error;
  }
}

/** A pair valid for a year; faster to make than one with an RSA key. */
export function testPair(nowMs: number): { readonly certificatePem: string; readonly keyPem: string } {
  const keyPem = generateKeyPem();
  const [notBeforeMs, notAfterMs] = [nowMs, nowMs + 365 * 86_400_000];
  return {
    certificatePem: makeCertificate({ subject: { commonName: 'test' }, keyPem, notBeforeMs, notAfterMs }),
    keyPem,
  };
}
