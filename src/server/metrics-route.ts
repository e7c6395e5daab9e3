/** `/metrics` and below: registries in Prometheus text format. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { errorText } from '../async/index.js';
import { plainError } from './responses.js';
import type { Route } from './routes.js';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
const compress = promisify(gzip);

/** If `reset` is given, DELETE restarts the counts. */
export function metricsRoute(path: string, text: () => string | Promise<string>, reset?: () => void): Route {
  return {
    kind: 'plain',
    path,
    handle: async ({ method, headers }) => {
      if (method === 'DELETE' && reset !== undefined) {
        reset();
        return {
          status: 200,
          headers: { 'Content-Type': 'text/plain; charset=utf-8' },
          body: 'metrics reset\n',
        };
      }
      let exposition: string;
      try {
        exposition = await text();
      } catch (error) {
        // A part of the metrics would look like the whole.
        const why = errorText(error);
        return plainError(500, `An error has occurred while serving metrics:\n\n${why}`);
      }
      if (!takesGzip(headers['accept-encoding'])) {
        return { status: 200, headers: { 'Content-Type': contentType }, body: exposition };
      }
      const body = await compress(exposition);
      return { status: 200, headers: { 'Content-Type': contentType, 'Content-Encoding': 'gzip' }, body };
    },
  };
}

export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  return [acceptEncoding ?? '']
    .flat()
    .flatMap((value) => value.split(','))
    .some((item) => {
      const [coding, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
}
