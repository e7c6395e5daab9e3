/** A watch as a stream of lines, one event each. */
import { isCancelled } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import type { WatchEvent, WatchOptions } from '../../kube-client/port.js';
import type { ServedApi } from '../server.js';
import type { ApiResponse } from './contracts.js';
import { statusResponse } from './errors.js';
import { bookmark, type RenderOptions, renderObject } from './render.js';

/** The line of the last event, since all watchers of a kind send the same. */
export class WatchLines {
  #last: { readonly object: KubeObject; readonly type: string; readonly bytes: Buffer } | undefined;

  bytesOf(event: WatchEvent<KubeObject>, options: RenderOptions): Buffer {
    if (event.type === 'BOOKMARK' || event.type === 'ERROR' || options.form !== 'object')
      return bytesOf(event, options);
    const { type, object } = event;
    // Stored objects are never changed, only replaced.
    if (this.#last?.object === object && this.#last.type === type) return this.#last.bytes;
    const bytes = bytesOf(event, options);
    this.#last = { object, type, bytes };
    return bytes;
  }
}

export function watchResponse(
  api: ServedApi,
  watch: WatchOptions,
  options: RenderOptions,
  contentType: string,
  lines: WatchLines,
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
            await sink.write(lines.bytesOf(event, { ...options, nowMs: api.clock.now() }));
        } catch (error) {
          if (!isCancelled(error)) throw error;
        }
      },
    },
  };
}

function bytesOf(event: WatchEvent<KubeObject>, options: RenderOptions): Buffer {
  return Buffer.from(`${JSON.stringify(line(event, options))}\n`);
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
