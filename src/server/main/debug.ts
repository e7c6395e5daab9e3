/** The debugging endpoints of the process itself: its configuration and verbosity. */
import { type KubeletConfiguration, maskSecrets, serializeConfiguration } from '../../config/index.js';
import { plain, plainError, type RouteResponse } from '../responses.js';
import type { Route, ServerRequest } from '../routes.js';

export function configzRoute(config: KubeletConfiguration): Route {
  return {
    kind: 'plain',
    path: '/configz',
    handle: () => ({
      status: 200,
      headers: { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' },
      body: JSON.stringify({ kubeletconfig: serializeConfiguration(maskSecrets(config)) }),
    }),
  };
}

/** Undefined: the handler is disabled. */
export function verbosityRoute(setVerbosity: ((verbosity: number) => void) | undefined): Route {
  return {
    kind: 'plain',
    path: '/debug/flags/v',
    handle: (request) => {
      if (setVerbosity === undefined) return plainError(405, 'flags endpoint is disabled.');
      return request.method === 'PUT'
        ? changeVerbosity(request, setVerbosity)
        : plainError(406, 'unsupported http method');
    },
  };
}

const largestVerbosity = 2 ** 31 - 1;

async function changeVerbosity(
  { readBody }: ServerRequest,
  setVerbosity: (verbosity: number) => void,
): Promise<RouteResponse> {
  const given = (await readBody?.())?.toString() ?? '';
  const value = Number(given);
  if (!/^[+-]?\d+$/.test(given) || Math.abs(value) > largestVerbosity) {
    const why = /^[+-]?\d+$/.test(given) ? 'value out of range' : 'invalid syntax';
    return plainError(
      400,
      `error parsing or setting level: strconv.ParseInt: parsing ${JSON.stringify(given)}: ${why}`,
    );
  }
  setVerbosity(value);
  return plain(200, `successfully set klog.logging.verbosity to ${given}\n`);
}
