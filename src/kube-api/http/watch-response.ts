/** A watch as a stream of lines, one event each. */
import { isCancelled } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import type { WatchEvent, WatchOptions } from '../../kube-client/port.js';
import type { ServedApi } from '../server.js';
import type { ApiResponse } from './contracts.js';
import { statusResponse } from './errors.js';
import { bookmark, type RenderOptions, renderObject } from './render.js';

export function watchResponse(
  api: ServedApi,
  watch: WatchOptions,
  options: RenderOptions,
  contentType: string,
): ApiResponse {
  return {
    status: 200,
    headers: { 'Content-Type': contentType, 'Cache-Control': 'no-cache, private' },
    body: {
      headAtOnce: true,
      failed: statusResponse,
      stream: async (sink, signal) => {
        try {
          for await (const event of api.watch(options.kind.resource, { ...watch, signal }))
            await sink.write(
              Buffer.from(`${JSON.stringify(line(event, { ...options, nowMs: api.clock.now() }))}\n`),
            );
        } catch (error) {
          if (!isCancelled(error)) throw error;
        }
      },
    },
  };
}

function line(event: WatchEvent<KubeObject>, options: RenderOptions): unknown {
  switch (event.type) {
    case 'BOOKMARK':
      return {
        type: 'BOOKMARK',
        object: bookmark(options, event.resourceVersion, event.initialEventsEnd === true),
      };
    case 'ERROR':
      return { type: 'ERROR', object: event.error.status };
    default:
      return { type: event.type, object: renderObject(event.object, options) };
  }
}
