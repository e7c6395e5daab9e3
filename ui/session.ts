/** Lets this browser in: the secret of the address is given up for a cookie and a key, which the origin's own storage keeps. */
import { Cell } from './cell.js';

const keyName = 'nodelet-key';
/** Of a secret; a place within the page has a slash instead. */
const secretPattern = /^#([A-Za-z0-9_-]{20,})$/;

export type SessionState = { readonly kind: 'open' } | { readonly kind: 'closed'; readonly because: string };

export const session = new Cell<SessionState>({ kind: 'open' });

export function sessionKey(): string {
  return localStorage.getItem(keyName) ?? '';
}

export function closeSession(because: string): void {
  localStorage.removeItem(keyName);
  session.set({ kind: 'closed', because });
}

/** Call this first. The secret leaves the address at once, so that no bookmark and no picture has it. */
export async function openSession(): Promise<void> {
  const [, secret] = secretPattern.exec(location.hash) ?? [];
  if (secret === undefined) {
    if (sessionKey() === '') closeSession('This browser was not let in yet.');
    return;
  }
  history.replaceState(null, '', '/#/pods');
  const answer = await fetch('/session', { method: 'POST', body: secret });
  if (!answer.ok) {
    if (sessionKey() === '') closeSession('This address was opened before, and lets one browser in, once.');
    return;
  }
  // The server of the page is the same program.
  const { key } = (await answer.json()) as { readonly key: string };
  localStorage.setItem(keyName, key);
  session.set({ kind: 'open' });
}
