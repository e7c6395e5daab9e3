/** A list as a response: small ones whole, large ones in pieces at the pace of their reader. */
import { Cancelled, type Clock, sleep } from '../../async/index.js';
import type { KubeList, KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping } from '../../kube-client/patches/json.js';
import { kubeApiLimits } from '../limits.js';
import { type ApiResponse, jsonResponse } from './contracts.js';
import { statusResponse } from './errors.js';
import { type RenderOptions, renderList } from './render.js';

export interface ListSource {
  readonly clock: Clock;
  /** Bytes of a stored object as JSON. */
  readonly sizeOf: (object: KubeObject) => number;
}

const { listPieceBytes, wholeListBytes, listMs } = kubeApiLimits;

/** A client that reads slowly holds a piece, and the objects of the list for a bounded time, and never their text. */
export function listResponse(
  { clock, sizeOf }: ListSource,
  list: KubeList<KubeObject>,
  render: RenderOptions,
  contentType: string,
): ApiResponse {
  const pieces = piecesOf(list.items, sizeOf);
  const headers = { 'Content-Type': contentType };
  if (pieces === undefined) return jsonResponse(200, renderList(list, render), headers);
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-cache, private', ...headers },
    body: {
      headAtOnce: true,
      failed: statusResponse,
      stream: async (sink, signal) => {
        const late = new AbortController();
        const limit = sleep(clock, listMs, late.signal).then(
          () => {
            throw new ApiError({ code: 504, reason: 'Timeout', message: 'the list was not read in time' });
          },
          () => undefined,
        );
        // Told by the race below, if it comes to that.
        limit.catch(() => undefined);
        try {
          for (const text of textOf(list, pieces, render)) {
            if (signal.aborted) throw new Cancelled();
            await Promise.race([sink.write(Buffer.from(text)), limit]);
          }
        } finally {
          late.abort();
        }
      },
    },
  };
}

/** Undefined when the list is sent whole. */
function piecesOf(
  items: readonly KubeObject[],
  sizeOf: ListSource['sizeOf'],
): readonly (readonly KubeObject[])[] | undefined {
  const pieces: KubeObject[][] = [];
  let total = 0;
  let piece: KubeObject[] = [];
  let bytes = 0;
  for (const item of items) {
    piece.push(item);
    bytes += sizeOf(item);
    if (bytes < listPieceBytes) continue;
    pieces.push(piece);
    total += bytes;
    piece = [];
    bytes = 0;
  }
  if (total + bytes <= wholeListBytes) return undefined;
  return [...pieces, piece];
}

function* textOf(
  list: KubeList<KubeObject>,
  pieces: readonly (readonly KubeObject[])[],
  render: RenderOptions,
): Generator<string> {
  const name = render.form === 'table' ? 'rows' : 'items';
  const { [name]: _none, ...head } = membersOf(renderList({ ...list, items: [] }, render));
  yield `${JSON.stringify(head).slice(0, -1)},"${name}":[`;
  let isFirst = true;
  for (const piece of pieces) {
    const { [name]: items } = membersOf(renderList({ ...list, items: [...piece] }, render));
    const text = JSON.stringify(items).slice(1, -1);
    if (text === '') continue;
    yield isFirst ? text : `,${text}`;
    isFirst = false;
  }
  yield ']}\n';
}

function membersOf(rendered: unknown): Readonly<Record<string, unknown>> {
  return isMapping(rendered) ? rendered : {};
}
