/** Whether a server answers yet, asked while it starts. */
import { get } from 'node:https';

export async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { headers: { connection: 'close' } })).ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** With a certificate that nobody checks; on loopback unless told otherwise. */
export function answersTls(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({
      host,
      port,
      path: '/healthz',
      rejectUnauthorized: false,
      agent: false,
    });
    request.on('error', () => resolve(false));
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
  });
}
