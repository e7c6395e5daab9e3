/** GETs a URL within limits of bytes and time, and follows redirects as the caller's rules say. */
import { Cancelled } from '../async/index.js';
import type { GetLimits, GetRules, HttpGetRequest, HttpResponse } from './contracts.js';
import { exchange, type GetProgress } from './exchange.js';

/** Rejects with `Cancelled` when the signal aborts, and otherwise with the error that the rules make of a failure. */
export function getUrl(
  request: HttpGetRequest,
  rules: GetRules,
  { clock, timeoutMs, signal }: GetLimits,
): Promise<HttpResponse> {
  if (signal?.aborted) return Promise.reject(new Cancelled());
  const flight: GetProgress = { stage: 'dial', addresses: {}, end: () => {} };
  let { url } = request;
  const onAbort = (): void => flight.end(new Cancelled());
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(timeoutMs, () =>
          flight.end(rules.failure({ kind: 'timeout', url, stage: flight.stage })),
        );
  signal?.addEventListener('abort', onAbort, { once: true });
  const follow = async (): Promise<HttpResponse> => {
    let current = request;
    for (let hops = 1; ; hops++) {
      url = current.url;
      const { location, ...response } = await exchange(current, rules, flight);
      const next = location === undefined ? undefined : rules.redirect(location, current, hops);
      if (next === undefined) return response;
      current = next;
    }
  };
  return follow().finally(() => {
    timer?.cancel();
    signal?.removeEventListener('abort', onAbort);
  });
}
