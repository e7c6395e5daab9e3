/** The health endpoints: one for all checks, and one for each. */
import { errorText } from '../async/index.js';
import type { HealthCheck } from './contracts.js';
import { plain, plainError, type RouteResponse, text } from './responses.js';
import type { Route } from './routes.js';

/** Passes as soon as the process can respond at all. */
export const pingCheck: HealthCheck = { name: 'ping', check: () => undefined };

/** `/healthz` over all checks and `/healthz/<name>` for each. */
export function healthzRoutes(checks: readonly HealthCheck[]): Route[] {
  return [
    { kind: 'plain', path: '/healthz', handle: ({ query }) => summary(checks, query) },
    ...checks.map(
      (check): Route => ({ kind: 'plain', path: `/healthz/${check.name}`, handle: () => single(check) }),
    ),
  ];
}

function single(check: HealthCheck): RouteResponse {
  const problem = failureOf(check);
  return problem === undefined ? text(200, 'ok') : plainError(500, `internal server error: ${problem}`);
}

function summary(checks: readonly HealthCheck[], query: URLSearchParams): RouteResponse {
  const excluded = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
    } else if (failureOf(check) === undefined) {
      lines.push(`[+]${check.name} ok`);
    } else {
      // The reason is for the log and the check's own path: this one may be public.
      lines.push(`[-]${check.name} failed: reason withheld`);
      failed = true;
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(',')}`);
  }
  if (failed) return plainError(500, [...lines, 'healthz check failed'].join('\n'));
  return plain(200, query.has('verbose') ? `${[...lines, 'healthz check passed'].join('\n')}\n` : 'ok');
}

/** A check that throws counts as failed, so that it does not affect the others. */
function failureOf(check: HealthCheck): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return errorText(error);
  }
}
