/** The client's side of the authentication (D-Bus Specification, "Authentication Protocol"), as a decision on each line. */

/** `named`: we said which user we are. `unnamed`: the server shall see that for itself. */
export type AuthState = 'named' | 'unnamed';

export type AuthStep =
  | { readonly kind: 'send'; readonly line: string; readonly state: AuthState }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly why: string };

/** EXTERNAL: the server compares the user id with what the kernel tells it of the socket's other end. */
export function firstAuthLine(uid: number): string {
  return `AUTH EXTERNAL ${Buffer.from(String(uid)).toString('hex')}`;
}

/**
 * A server in another user namespace knows this user by another id and refuses the one we say. It is asked once more
 * without one.
 */
export function nextAuthStep(state: AuthState, line: string): AuthStep {
  const [command, ...words] = line.split(' ');
  switch (command) {
    case 'OK':
      return { kind: 'accepted' };
    case 'DATA':
      return { kind: 'send', line: 'DATA', state };
    case 'REJECTED':
      return state === 'named' && words.includes('EXTERNAL')
        ? { kind: 'send', line: 'AUTH EXTERNAL', state: 'unnamed' }
        : { kind: 'refused', why: `the server answered ${JSON.stringify(line)}` };
    default:
      return { kind: 'refused', why: `the server answered ${JSON.stringify(line)}` };
  }
}
