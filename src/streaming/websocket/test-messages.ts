/** For tests: joins the parts of messages. */
import { type MessagePart, type WebSocketEvent, WebSocketFrameReader } from './frames.js';

export type WebSocketMessage =
  | Pick<MessagePart, 'kind' | 'binary' | 'data'>
  | Exclude<WebSocketEvent, MessagePart>;

export class WebSocketMessageReader {
  readonly #frames: WebSocketFrameReader;
  #parts: Buffer[] = [];

  constructor(options: { readonly fromClient: boolean }) {
    this.#frames = new WebSocketFrameReader(options);
  }

  *read(chunk: Buffer): Generator<WebSocketMessage, void, undefined> {
    for (const event of this.#frames.read(chunk)) {
      if (event.kind !== 'message') yield event;
      else {
        this.#parts.push(event.data);
        if (!event.last) continue;
        yield { kind: 'message', binary: event.binary, data: Buffer.concat(this.#parts.splice(0)) };
      }
    }
  }
}
