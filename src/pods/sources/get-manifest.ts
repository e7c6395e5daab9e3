/** The GET of a manifest: from a server that must show a trusted certificate, following redirects to any host. */
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { asError, type Clock } from '../../async/index.js';
import {
  type GetFailure,
  type GetRules,
  getUrl,
  type HttpGetRequest,
  httpUrlOf,
} from '../../http-get/index.js';
import { strongClientTls } from '../../kube-client/tls-suites.js';

export interface GetManifestOptions {
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly timeoutMs: number;
  readonly limitBytes: number;
  readonly signal: AbortSignal;
}

export interface ManifestResponse {
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

export async function getManifest(options: GetManifestOptions): Promise<ManifestResponse> {
  let url = new URL(options.url);
  const origin = url.host;
  const rules: GetRules = {
    body: { limitBytes: options.limitBytes, atLimit: 'fail' },
    protocols: ['http/1.1'],
    async tls() {
      const ca = await readSystemCas();
      return { ...strongClientTls, ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }) };
    },
    redirect(location, _current, hops) {
      // Resolved against the whole URL: a location on the same host keeps its user and password.
      url = new URL(location, url);
      if (hops > maxRedirects) throw new Error(`stopped after ${maxRedirects} redirects`);
      // Headers may contain credentials, which another host must not see.
      return manifestRequest(url, url.host === origin ? options.headers : {});
    },
    failure: (failure) => failureError(failure, options.timeoutMs),
  };
  const { status, statusMessage, body } = await getUrl(manifestRequest(url, options.headers), rules, options);
  return { status, statusText: `${status} ${statusMessage}`.trim(), body };
}

function manifestRequest(url: URL, given: GetManifestOptions['headers']): HttpGetRequest {
  const headers = Object.entries(given).flatMap(([name, values]) =>
    // The URL alone says which host is asked, as with Go's client.
    name.toLowerCase() === 'host' ? [] : values.map((value) => [name, value] as const),
  );
  const isAuthorized = headers.some(([name]) => name.toLowerCase() === 'authorization');
  const { username, password } = url;
  if (!isAuthorized && (username !== '' || password !== '')) {
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers.push(['Authorization', `Basic ${Buffer.from(user).toString('base64')}`]);
  }
  return { url: httpUrlOf(url), hostHeader: undefined, headers };
}

function failureError(failure: GetFailure, timeoutMs: number): Error {
  return failure.kind === 'timeout'
    ? new Error(`no response within ${timeoutMs / 1000} s`)
    : asError(failure.error);
}
