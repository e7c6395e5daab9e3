/** Submits a certificate request and waits until it is signed, refused or deleted. */
import { type Clock, linkedController, withTimeout } from '../../async/index.js';
import {
  type CertificateSigningRequest,
  type CertificateSubject,
  Informer,
  isAlreadyExists,
  type KubeApi,
  resources,
} from '../../kube-client/index.js';
import { incompatibility, type RequestVerdict, verdictOf } from './request.js';

/** Creates the request; reuses one of the same name if it asks for the same. */
export async function createRequest(
  api: KubeApi,
  request: CertificateSigningRequest,
  own: { readonly keyPem: string; readonly subject: CertificateSubject },
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { name } = request.metadata;
  try {
    return await api.create(resources.certificateSigningRequests, request, { signal });
  } catch (error) {
    if (!isAlreadyExists(error) || name === undefined) throw error;
  }
  const existing = await api.get(resources.certificateSigningRequests, { name }, { signal });
  const problem = incompatibility(existing, request, own.keyPem, own.subject);
  if (problem !== undefined) throw new Error(`retrieved csr ${name} is not compatible: ${problem}`);
  return existing;
}

export interface WaitOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly request: CertificateSigningRequest;
  readonly timeoutMs: number;
  readonly random?: () => number;
}

/** The signed certificate in PEM. Rejects if the request is denied, fails, is deleted or takes too long. */
export async function waitForCertificate(options: WaitOptions, signal: AbortSignal): Promise<string> {
  const { api, clock, request, timeoutMs, random } = options;
  const { name = '', uid } = request.metadata;
  const { controller, unlink } = linkedController(signal);
  let verdict: RequestVerdict = { kind: 'pending' };
  let wasSeen = false;
  const judge = (): void => {
    const found = informer.get({ name });
    if (found !== undefined && found.metadata.uid === uid) {
      wasSeen = true;
      verdict = verdictOf(found);
    } else if (found !== undefined) {
      verdict = { kind: 'refused', message: `csr "${name}" changed UIDs` };
    } else if (wasSeen) {
      // Gone after it was seen. A list that never had it is only stale.
      verdict = { kind: 'refused', message: `csr "${name}" was deleted` };
    }
    if (verdict.kind !== 'pending') controller.abort();
  };
  const informer = new Informer<CertificateSigningRequest>({
    api,
    clock,
    resource: resources.certificateSigningRequests,
    fieldSelector: `metadata.name=${name}`,
    onUpdate: judge,
    ...(random === undefined ? {} : { random }),
  });
  try {
    await withTimeout(clock, timeoutMs, controller.signal, (inner) => informer.run(inner));
  } catch (error) {
    const reached = settled(verdict);
    if (reached === undefined) throw error;
    if (reached.kind === 'refused') throw new Error(reached.message);
    return reached.certificatePem;
  } finally {
    unlink();
  }
  throw new Error(`csr "${name}" is no longer watched`);
}

/** The callback above sets the verdict where the compiler cannot see it. */
function settled(verdict: RequestVerdict): Exclude<RequestVerdict, { kind: 'pending' }> | undefined {
  return verdict.kind === 'pending' ? undefined : verdict;
}
