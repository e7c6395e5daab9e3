/** Parses the endpoint of a runtime. */

/** The path of the socket. A bare path is the old form of `unix://<path>`. Throws for other schemes. */
export function socketPathOfEndpoint(endpoint: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === 'tcp') throw new Error('only support unix socket endpoint');
  if (scheme !== undefined && scheme !== 'unix')
    throw new Error(`protocol ${JSON.stringify(scheme)} not supported`);
  const path = endpoint.replace(/^unix:(\/\/)?/i, '');
  if (!path.startsWith('/')) {
    throw new Error(`endpoint ${JSON.stringify(endpoint)} does not name a socket by an absolute path`);
  }
  return path;
}
