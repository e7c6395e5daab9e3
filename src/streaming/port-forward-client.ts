/** The client of port-forward: many connections to the ports of one pod over one SPDY connection. */
import { Duplex } from 'node:stream';
import { asError, Cancelled, systemClock } from '../async/index.js';
import type { OpenPortForwardOptions, PortForward } from './contracts.js';
import { dialSpdy } from './dial.js';
import { streamingClientLimits } from './limits.js';
import type { SpdyConnection } from './spdy/connection.js';
import type { SpdyStream } from './spdy/stream.js';

const protocol = 'portforward.k8s.io';
/** How long a connection that ended without data waits for an error text. */
const complaintWaitMs = 250;

/** Rejects with `UpgradeRefused` when the server refuses the request. Aborting the signal ends all connections. */
export async function openPortForward({ target, signal }: OpenPortForwardOptions): Promise<PortForward> {
  const { connection } = await dialSpdy({ target, protocols: [protocol], signal });
  const onAbort = (): void => connection.destroy(new Cancelled());
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const closed = connection.closed.then(() => signal?.removeEventListener('abort', onAbort));
  let requests = 0;
  return {
    open: (port) => openPort(connection, port, requests++),
    closed,
    close: () => connection.close().then(() => closed),
  };
}

async function openPort(connection: SpdyConnection, port: number, requestId: number): Promise<Duplex> {
  const headers = (streamtype: string): Map<string, string> =>
    new Map([
      ['streamtype', streamtype],
      ['port', String(port)],
      ['requestid', String(requestId)],
    ]);
  const errors = await connection.open(headers('error'));
  errors.end();
  try {
    return new ForwardedConnection(await connection.open(headers('data')), errors);
  } catch (error) {
    errors.destroy();
    throw error;
  }
}

/** The data stream of a pair. It fails with the text of the error stream. */
class ForwardedConnection extends Duplex {
  readonly #data: SpdyStream;
  readonly #errors: SpdyStream;
  /** The error text so far. Frames are in order, so it arrives before the end of the data stream. */
  #complaint = '';
  #wantMore: (() => void) | undefined;

  constructor(data: SpdyStream, errors: SpdyStream) {
    super({ allowHalfOpen: true });
    this.#data = data;
    this.#errors = errors;
    data.on('error', (error) => this.destroy(error));
    errors.on('error', (error) => this.destroy(error));
    errors.on('data', (chunk: Buffer) => {
      const roomBytes = streamingClientLimits.complaintBytes - this.#complaint.length;
      if (roomBytes > 0) this.#complaint += chunk.toString('utf8', 0, roomBytes);
    });
    errors.once('end', () => {
      if (this.#complaint !== '') this.destroy(new Error(this.#complaint));
    });
    this.#receive().catch((error: unknown) => this.destroy(asError(error)));
  }

  override _read(): void {
    this.#wantMore?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#data.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#data.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#wantMore?.();
    this.#data.destroy();
    this.#errors.destroy();
    done(error);
  }

  async #receive(): Promise<void> {
    let received = false;
    // The other direction may continue when this one has ended.
    for await (const chunk of this.#data.iterator({ destroyOnReturn: false })) {
      if (this.destroyed) return;
      received = true;
      if (!this.push(chunk)) {
        await new Promise<void>((resolve) => {
          this.#wantMore = resolve;
        });
      }
    }
    if (this.destroyed) return;
    const { resetBy } = this.#data;
    // Some servers end the data stream before they report that the connection failed.
    if (!received && resetBy === undefined) await this.#complaintOrSilence();
    if (this.destroyed) return;
    if (this.#complaint !== '') this.destroy(new Error(this.#complaint));
    else if (resetBy !== undefined) this.destroy(resetBy);
    else this.push(null);
  }

  /** Resolves when the error stream has ended, or after a short wait. */
  #complaintOrSilence(): Promise<void> {
    if (this.#errors.readableEnded || this.#errors.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = systemClock.setTimer(complaintWaitMs, () => resolve());
      this.#errors.once('close', () => {
        timer.cancel();
        resolve();
      });
      this.#errors.once('end', () => {
        timer.cancel();
        resolve();
      });
    });
  }
}
