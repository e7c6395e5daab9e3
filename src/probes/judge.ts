/** Turns a network response into a probe outcome with a message for users. */
import { criErrorFromStatus } from '../cri/index.js';
import type { HttpGetResponse } from '../http-get/index.js';
import { formatDuration, goQuote } from '../kube/index.js';
import type { GrpcHealthResult, ProbeOutcome } from './contracts.js';

export function judgeHttp({ status, body }: HttpGetResponse): ProbeOutcome {
  if (status >= 200 && status < 300) return { state: 'success', output: body };
  if (status >= 300 && status < 400) {
    return { state: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  }
  return { state: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
}

const deadlineExceeded = 4;
const unimplemented = 12;

/** `address` is `host:port`. */
export function judgeGrpc(answer: GrpcHealthResult, address: string, timeoutMs: number): ProbeOutcome {
  const within = formatDuration(timeoutMs);
  const failure = (output: string): ProbeOutcome => ({ state: 'failure', output });
  switch (answer.kind) {
    case 'status':
      return answer.status === 'SERVING'
        ? { state: 'success', output: 'service healthy' }
        : failure(`service unhealthy (responded with ${goQuote(answer.status)})`);
    case 'no-connection':
      return failure(
        `timeout: failed to connect service ${goQuote(address)} within ${within}: context deadline exceeded`,
      );
    case 'dial-error':
      return failure(`error: failed to connect service at ${goQuote(address)}: ${answer.message}`);
    case 'rpc-error':
      switch (answer.code) {
        case unimplemented:
          return failure(
            `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${answer.message}`,
          );
        case deadlineExceeded:
          return failure(`timeout: health rpc did not complete within ${within}`);
        default:
          return failure(
            `error: health rpc probe failed: ${criErrorFromStatus(answer.code, answer.message).message}`,
          );
      }
  }
}
