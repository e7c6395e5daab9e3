/** Parses `[LOCAL:]REMOTE` ports and the addresses to listen on. */
import type { Pod } from '../kube/types/index.js';
import { UsageError } from './client/usage-error.js';

export interface ForwardedPort {
  /** 0: any free port. */
  readonly local: number;
  readonly remote: number;
}

/** `8080:80`, `80`, `:80`; REMOTE may also be the name of a container port. */
export function parsePort(text: string, pod: Pod): ForwardedPort {
  const [first = '', second, ...more] = text.split(':');
  if (more.length > 0)
    throw new UsageError(`invalid port format ${JSON.stringify(text)}: write [LOCAL:]REMOTE`);
  const remote = remotePort(second ?? first, text, pod);
  if (second === undefined) return { local: remote, remote };
  return { local: first === '' ? 0 : portNumber(first, text, 0), remote };
}

function remotePort(word: string, text: string, pod: Pod): number {
  if (/^\d/.test(word) || word === '') return portNumber(word, text, 1);
  const ports = pod.spec.containers.flatMap((container) => container.ports ?? []);
  const named = ports.find(({ name }) => name === word);
  if (named === undefined) {
    const names = ports.flatMap(({ name }) => name ?? []);
    throw new UsageError(
      `the pod has no port named ${JSON.stringify(word)}${names.length === 0 ? '' : `; it has ${names.join(', ')}`}`,
    );
  }
  return named.containerPort;
}

function portNumber(word: string, text: string, least: number): number {
  const port = Number(word);
  if (!/^\d+$/.test(word) || port < least || port > 65_535)
    throw new UsageError(
      `invalid port ${JSON.stringify(word)} in ${JSON.stringify(text)}: ${least} to 65535`,
    );
  return port;
}

/** Returns the addresses to listen on. Listening on an optional one may fail. */
export function parseAddresses(text: string): { readonly address: string; readonly optional: boolean }[] {
  return text
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '')
    .flatMap((address) =>
      address === 'localhost'
        ? [
            { address: '127.0.0.1', optional: false },
            // Machines without IPv6 do not have this address.
            { address: '::1', optional: true },
          ]
        : [{ address, optional: false }],
    );
}

export function endpointText(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
