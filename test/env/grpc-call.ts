/** One plain gRPC call over a unix socket, to ask a runtime whether it serves before any client of ours exists. */
import { connect } from 'node:http2';
import { createConnection } from 'node:net';

export class GrpcCallError extends Error {
  override readonly name = 'GrpcCallError';

  constructor(
    readonly method: string,
    /** The gRPC status code. */
    readonly code: number,
    message: string,
    cause?: unknown,
  ) {
    super(`${method}: code ${code}: ${message}`, { cause });
  }
}

const unknown = 2;
const unavailable = 14;

/** The response's bytes; throws `GrpcCallError` for an answer that is an error, and for none. */
export function callGrpc(
  socket: string,
  method: string,
  request: Buffer,
  timeoutMs = 30_000,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const session = connect('http://localhost', { createConnection: () => createConnection(socket) });
    const fail = (cause: Error) => {
      session.destroy();
      reject(new GrpcCallError(method, unavailable, cause.message, cause));
    };
    session.on('error', fail);
    session.setTimeout(timeoutMs, () => fail(new Error(`no answer within ${timeoutMs} ms`)));
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', fail);
    const chunks: Buffer[] = [];
    let status: string | undefined;
    let message: string | undefined;
    const note = (headers: Record<string, unknown>) => {
      status = headers['grpc-status'] === undefined ? status : String(headers['grpc-status']);
      message = headers['grpc-message'] === undefined ? message : String(headers['grpc-message']);
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      session.close();
      if (status === '0') {
        // One flag byte and four of length go before the message.
        resolve(Buffer.concat(chunks).subarray(5));
        return;
      }
      reject(
        new GrpcCallError(method, Number(status ?? unknown), decodeURIComponent(message ?? 'no status')),
      );
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(request.length, 1);
    stream.end(Buffer.concat([prefix, request]));
  });
}
