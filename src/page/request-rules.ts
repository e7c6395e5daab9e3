/** Decides whether a request may come from the page at all: by its Host, its Origin and what the browser says of the site. */
import type { IncomingHttpHeaders } from 'node:http';

/** Names of this machine's loopback; a name of anybody else's that resolves to it is refused (DNS rebinding). */
const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];

export interface AskedFrom {
  readonly port: number;
  readonly headers: IncomingHttpHeaders;
  /** Whether the request must tell its origin: one that changes something, or opens a WebSocket, which no CORS rule guards. */
  readonly needsOrigin: boolean;
}

/** Why the request is refused; undefined where it may go on. */
export function foreignRequest({ port, headers, needsOrigin }: AskedFrom): string | undefined {
  const { host = '', origin, 'sec-fetch-site': site } = headers;
  if (!loopbackNames.some((name) => host === `${name}:${port}`)) return 'the Host is not this page';
  if (origin !== undefined && origin !== `http://${host}`) return 'the Origin is not this page';
  if (origin === undefined && needsOrigin) return 'the request has no Origin';
  // A link in another page may open the page itself, but reads nothing of it; "none" is a typed address.
  if (
    site !== undefined &&
    site !== 'same-origin' &&
    site !== 'none' &&
    headers['sec-fetch-mode'] !== 'navigate'
  )
    return 'another site asks';
  return undefined;
}
