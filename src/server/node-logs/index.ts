/** `/logs/`: the files of the node's log directory and, if enabled, the logs of its services. */
import { createGzip } from 'node:zlib';
import type { Clock } from '../../async/index.js';
import { linuxHost } from '../../host/index.js';
import { isStreamed, plainError, type RouteResponse } from '../responses.js';
import type { Route, ServerRequest } from '../routes.js';
import { type NodeLogFiles, serveFile } from './files.js';
import { decodeNodeLogQuery } from './query.js';
import { type Journal, serviceLogs, systemJournal } from './services.js';

export interface NodeLogsOptions {
  readonly root: string;
  /** Whether queries are served; otherwise their parameters are ignored. */
  readonly query: boolean;
  readonly clock: Clock;
  readonly journal?: Journal;
  /** Default: this machine. */
  readonly host?: NodeLogFiles;
}

/**
 * Isolated file calls, as anything may be mounted below the log directory, and any log reader may request
 * it.
 */
const nodeLogFiles = linuxHost().apart('the logs of the node');

export function nodeLogsRoute(options: NodeLogsOptions): Route {
  return {
    kind: 'tree',
    path: '/logs/',
    methods: ['GET'],
    handle: (request, below) => nodeLogs(options, request, below),
  };
}

async function nodeLogs(
  { root, query: queries, clock, journal = systemJournal, host = nodeLogFiles }: NodeLogsOptions,
  request: ServerRequest,
  below: string,
): Promise<RouteResponse> {
  const decoded = queries ? decodeNodeLogQuery(request.query) : ({ kind: 'none' } as const);
  switch (decoded.kind) {
    case 'none':
      return serveFile(host, root, below, request);
    case 'undecodable':
      return plainError(400, decoded.message);
    case 'invalid':
      return below === '' ? plainError(406, decoded.message) : noPath;
    case 'query': {
      if (below !== '') return noPath;
      const [file] = decoded.query.files;
      if (file !== undefined) {
        const response = await serveFile(host, root, file, request);
        return response.status === 404
          ? plainError(406, `query: Invalid value: ${JSON.stringify(file)}: no such file`)
          : response;
      }
      const response = serviceLogs({ host, root, journal, clock }, decoded.query);
      return request.headers['accept-encoding'] === 'gzip' ? gzipped(response) : response;
    }
  }
}

const noPath = plainError(406, 'path not allowed in query mode');

function gzipped(response: RouteResponse): RouteResponse {
  const { body } = response;
  if (!isStreamed(body)) return response;
  return {
    ...response,
    headers: { ...response.headers, 'Content-Encoding': 'gzip' },
    body: {
      ...body,
      stream: async (sink, signal) => {
        const zip = createGzip();
        const out = (async () => {
          for await (const chunk of zip) await sink.write(chunk as Buffer);
        })();
        const write = (bytes: Buffer): Promise<void> =>
          new Promise((resolve, reject) => zip.write(bytes, (error) => (error ? reject(error) : resolve())));
        try {
          await body.stream({ write }, signal);
          zip.end();
        } catch (error) {
          zip.destroy();
          await out.catch(() => {});
          throw error;
        }
        await out;
      },
    },
  };
}
