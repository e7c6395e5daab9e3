/** The messages and headers of a gRPC health check. */
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';

const prefixBytes = 5;
const statusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** HealthCheckRequest as one gRPC message; field 1 is the service name. */
export function healthRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** HealthCheckResponse; field 1 is the status, 0 when absent. */
export function healthStatus(body: Buffer): string {
  const message = body.subarray(prefixBytes);
  const value = message[0] === 0x08 ? (message[1] ?? 0) : 0;
  return statusNames[value] ?? String(value);
}

export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

/** gRPC codes for the HTTP status of a server that does not speak gRPC. */
const codesByHttpStatus: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
};
const unknown = 2;

/** The status is in the trailers, or in the headers of a trailers-only response. */
export function grpcStatusOf(
  head: IncomingHttpHeaders & IncomingHttpStatusHeader,
  trailers: IncomingHttpHeaders,
): GrpcStatus {
  const httpStatus = Number(head[':status'] ?? 0);
  const code = trailers['grpc-status'] ?? head['grpc-status'];
  if (code !== undefined && /^\d+$/.test(String(code))) {
    return { code: Number(code), message: decodeMessage(trailers['grpc-message'] ?? head['grpc-message']) };
  }
  if (httpStatus !== 200) {
    return {
      code: codesByHttpStatus[httpStatus] ?? unknown,
      message: `unexpected HTTP status code received from server: ${httpStatus}`,
    };
  }
  return { code: 13, message: 'server closed the stream without sending trailers' };
}

function decodeMessage(text: string | string[] | undefined): string {
  const raw = [text ?? ''].flat().join(', ');
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
