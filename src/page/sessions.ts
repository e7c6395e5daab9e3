/**
 * Who may use the page: an address with a secret that works once lets a browser in, which then holds a cookie that scripts
 * cannot read and a key that is never sent by itself. A request needs both: cookies do not tell ports of a host apart, and a
 * key in the page's own storage does.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { pageLimits } from './limits.js';

export const keyHeader = 'x-nodelet-key';
/** WebSockets have no headers of the page's choice, so the key is one of the protocols that it offers. */
export const keyProtocolPrefix = 'nodelet.key.';

export interface LetIn {
  readonly setCookie: string;
  readonly key: string;
}

export class PageSessions {
  /** By the port, so that pages of several nodes do not log each other out. */
  readonly #cookieName: string;
  /** Hashes, so that looking one up tells nothing about the others by its time. The oldest comes first. */
  readonly #openAddresses = new Set<string>();
  readonly #keysByCookie = new Map<string, string>();

  constructor(port: number) {
    this.#cookieName = `nodelet-${port}`;
  }

  /** A secret for an address. */
  newSecret(): string {
    const secret = randomText();
    this.#openAddresses.add(hashOf(secret));
    dropOldest(this.#openAddresses, pageLimits.openAddresses);
    return secret;
  }

  /** Undefined when the secret is none, or was used before. */
  letIn(secret: string): LetIn | undefined {
    if (!this.#openAddresses.delete(hashOf(secret))) return undefined;
    const cookie = randomText();
    const key = randomText();
    this.#keysByCookie.set(hashOf(cookie), hashOf(key));
    dropOldest(this.#keysByCookie, pageLimits.browsers);
    return { key, setCookie: `${this.#cookieName}=${cookie}; HttpOnly; SameSite=Strict; Path=/` };
  }

  isKnown(headers: IncomingHttpHeaders): boolean {
    const cookie = cookieOf(headers, this.#cookieName);
    const key = keyOf(headers);
    if (cookie === undefined || key === undefined) return false;
    const wanted = this.#keysByCookie.get(hashOf(cookie));
    return wanted !== undefined && wanted === hashOf(key);
  }
}

function dropOldest(held: Set<string> | Map<string, string>, most: number): void {
  for (const oldest of held.keys()) {
    if (held.size <= most) return;
    held.delete(oldest);
  }
}

function cookieOf({ cookie = '' }: IncomingHttpHeaders, name: string): string | undefined {
  for (const pair of cookie.split(';')) {
    const [given, value] = pair.trim().split('=', 2);
    if (given === name && value) return value;
  }
  return undefined;
}

function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers[keyHeader];
  if (typeof given === 'string') return given;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return offered.find((name) => name.startsWith(keyProtocolPrefix))?.slice(keyProtocolPrefix.length);
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
