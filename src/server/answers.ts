/** The answers that handlers give, in the forms that clients of the kubelet API know. */

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

const textType = 'text/plain; charset=utf-8';

export function text(status: number, body: string): Answer {
  return { status, headers: { 'Content-Type': textType }, body };
}

/** Text whose type browsers must not guess anew. */
export function plain(status: number, body: string): Answer {
  return { status, headers: { 'Content-Type': textType, 'X-Content-Type-Options': 'nosniff' }, body };
}

export function plainError(status: number, message: string): Answer {
  return plain(status, `${message}\n`);
}

export function json(value: unknown): Answer {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(value)}\n` };
}

export function redirect(location: string): Answer {
  return { status: 307, headers: { Location: location }, body: '' };
}
