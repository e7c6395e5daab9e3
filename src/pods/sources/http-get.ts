/** One GET over HTTP or HTTPS with size and time limits, following redirects as a Go client does. */

import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import { ByteReader, Cancelled, type Clock, TimedOut, withTimeout } from '../../async/index.js';
import { strongClientTls } from '../../kube-client/tls-suites.js';

export interface HttpGetOptions {
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs: number;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly body: Buffer;
}

const maxRedirects = 10;

/** Where distributions keep the machine's trusted certificate authorities. */
const systemCaFiles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
];
let systemCas: Promise<string | undefined> | undefined;

/** The machine's authorities, which may be more than Node's; read once. */
function readSystemCas(): Promise<string | undefined> {
  systemCas ??= (async () => {
    for (const file of systemCaFiles) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) return text;
    }
    return undefined;
  })();
  return systemCas;
}

export async function httpGet(options: HttpGetOptions): Promise<HttpAnswer> {
  try {
    return await withTimeout(options.clock, options.timeoutMs, options.signal, (signal) =>
      follow(options, signal),
    );
  } catch (error) {
    if (error instanceof TimedOut)
      throw new Error(`no response within ${options.timeoutMs / 1000} s`, { cause: error });
    throw error;
  }
}

async function follow(options: HttpGetOptions, signal: AbortSignal): Promise<HttpAnswer> {
  let url = new URL(options.url);
  const origin = url.host;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    // Headers may contain credentials, which another host must not see.
    const headers = url.host === origin ? options.headers : {};
    const ca = url.protocol === 'https:' ? await readSystemCas() : undefined;
    const answer = await once(url, headers, ca, options.limitBytes, signal);
    if (answer.location === undefined) return answer;
    url = new URL(answer.location, url);
  }
  throw new Error(`stopped after ${maxRedirects} redirects`);
}

function once(
  url: URL,
  headers: Readonly<Record<string, readonly string[]>>,
  ca: string | undefined,
  limitBytes: number,
  signal: AbortSignal,
): Promise<HttpAnswer & { location?: string }> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, [...values]]));
    const request = send(url, {
      headers: outgoing,
      signal,
      agent: false,
      ...(url.protocol === 'https:' ? strongClientTls : {}),
      ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    });
    request.on('error', (error) => reject(signal.aborted ? new Cancelled() : error));
    request.on('response', (response) => {
      read(response, limitBytes).then((body) => {
        const status = response.statusCode ?? 0;
        const location =
          status >= 301 && status <= 308 && status !== 304 ? response.headers.location : undefined;
        resolve({
          status,
          statusText: `${status} ${response.statusMessage ?? ''}`.trim(),
          body,
          ...(location === undefined ? {} : { location }),
        });
      }, reject);
    });
    request.end();
  });
}

async function read(response: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const body = new ByteReader();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (body.length + chunk.length >= limitBytes) {
      response.destroy();
      throw new Error(`the response reaches the limit of ${limitBytes} bytes`);
    }
    body.push(chunk);
  }
  return body.takeAll();
}
