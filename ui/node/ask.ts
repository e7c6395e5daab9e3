/** Requests to the node, through the server of the page: one answer, or lines as they come. */
import { refusalWords } from '../../src/page/refusal-words.js';
import { closeSession, sessionKey } from '../session.js';

/** The node, or the page's server, answered with something else than what was asked for. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `path` begins with a slash. */
export async function askNode(path: string, signal?: AbortSignal): Promise<Response> {
  const answer = await fetch(`/node${path}`, {
    headers: { 'x-nodelet-key': sessionKey() },
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer.ok) return answer;
  const said = refusalWords(await answer.text()).slice(0, mostRefusalChars);
  if (answer.status === 401)
    closeSession('The page was started anew, and does not know this browser any more.');
  throw new Refused(answer.status, said || `status ${answer.status}`);
}

const mostRefusalChars = 1000;

/** The types of answers are those of the same program. */
export async function askJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await askNode(path, signal)).json()) as T;
}

const longestLine = 16 << 20;

/** Ends when the node ends the stream. */
export async function* linesOfNode(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const { body } = await askNode(path, signal);
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let pending = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pending += decoder.decode(value, { stream: true });
    const lines = pending.split('\n');
    pending = lines.pop() ?? '';
    if (pending.length > longestLine) throw new Error('a line of the answer is too long');
    yield* lines;
  }
  if (pending !== '') yield pending;
}
