/** The GET of an `httpGet` action to a container, with errors in the words that users of Kubernetes know. */
import { goQuote } from '../kube/index.js';
import {
  type GetFailure,
  type GetRules,
  HttpGetError,
  type HttpGetRequest,
  type HttpGetResponse,
  type HttpLimits,
  type HttpUrl,
  PlainHttpResponse,
} from './contracts.js';
import { getUrl } from './get-url.js';
import { httpGetLimits } from './limits.js';
import { networkErrorText, plainHttpText } from './network-errors.js';
import { podLookups } from './pod-lookups.js';
import { redirectedRequest } from './redirects.js';
import { formatHost, formatUrl } from './request.js';

/** Follows redirects on the same host. One timeout covers all requests. */
export async function httpGet(request: HttpGetRequest, limits: HttpLimits): Promise<HttpGetResponse> {
  const limitBytes = limits.ignoresBody ? 0 : httpGetLimits.bodyBytes;
  const rules: GetRules = {
    body: { limitBytes, atLimit: 'truncate' },
    plainProtocol: request.isPlainHttp2 === true ? 'h2' : 'http/1.1',
    protocols: ['h2', 'http/1.1'],
    lookup: (isWanted) => podLookups.lookup(isWanted),
    // A probe checks that the container responds, not its identity.
    tls: () => ({ rejectUnauthorized: false }),
    redirect: (location, current, hops) => redirectedRequest(request, current, location, hops),
    failure: failureError,
  };
  const { status, body } = await getUrl(request, rules, limits);
  return { status, body: body.toString('utf8') };
}

function failureError(failure: GetFailure): Error {
  const { url, stage } = failure;
  if (failure.kind === 'timeout') return timeoutError(stage, url);
  const { addresses, error } = failure;
  if (stage === 'body') return new Error(bodyErrorText(error), { cause: error });
  const text = networkErrorText(error, formatHost(url), addresses);
  const Kind = text === plainHttpText ? PlainHttpResponse : HttpGetError;
  return new Kind(`Get ${goQuote(formatUrl(url))}: ${text}`, { cause: error });
}

function timeoutError(stage: GetFailure['stage'], url: HttpUrl): Error {
  switch (stage) {
    case 'dial':
      return new HttpGetError(
        `Get ${goQuote(formatUrl(url))}: dial tcp ${formatHost(url)}: i/o timeout (Client.Timeout exceeded while awaiting headers)`,
      );
    case 'headers':
      return new HttpGetError(
        `Get ${goQuote(formatUrl(url))}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      );
    case 'body':
      return new Error(
        'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
      );
  }
}

function bodyErrorText(error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: '' };
  return code === 'ECONNRESET' ? 'unexpected EOF' : message;
}
