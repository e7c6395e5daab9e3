/** Where the collector listens: the forms that `tracing.endpoint` may have. */
import type { GrpcHost } from '../../grpc/index.js';

export const defaultCollector = 'localhost:4317';

/** The port of a gRPC address that names none. */
const defaultPort = 443;

/** The path of a socket, or a port. The configuration was validated before. */
export function collectorServer(endpoint: string): string | GrpcHost {
  const socket = /^unix:(?:\/\/)?(.+)$/.exec(endpoint)?.[1];
  if (socket !== undefined) return socket;
  const abstract = /^unix-abstract:(.+)$/.exec(endpoint)?.[1];
  // Linux knows sockets without a file by a first byte of zero.
  if (abstract !== undefined) return `\0${abstract}`;
  // `dns:///name:port`, or with a name server that is the system's concern: `dns://server/name:port`.
  const address = endpoint.replace(/^dns:(\/\/[^/]*\/)?/, '');
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(address) ?? [];
  const host = bracketed ?? plain ?? address;
  return { host: host === '' ? 'localhost' : host, port: port === undefined ? defaultPort : Number(port) };
}
