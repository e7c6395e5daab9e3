/** The source of an NFS mount: `server:/path`, checked part by part. */
import { absolutePath, type CheckedWord, checkedWord, hostNameOrAddress } from './checked-word.js';

export type NfsSource = CheckedWord<'nfs source'>;

/** An IPv6 address goes in brackets: its colons would end the server's name. */
export function nfsSource({ server, path }: { readonly server: string; readonly path: string }): NfsSource {
  const host = checkedWord(hostNameOrAddress, 'nfs.server', server);
  const directory = checkedWord(absolutePath, 'nfs.path', path);
  const isBareIpv6 = host.includes(':') && !host.startsWith('[');
  // Both parts were checked, and the first decides how the whole begins.
  return `${isBareIpv6 ? `[${host}]` : host}:${directory}` as NfsSource;
}

/** Parses `server:/path`. The path begins at the first `:/`, which no server name contains. */
export function parseNfsSource(text: string): NfsSource {
  const colon = text.indexOf(':/');
  if (colon < 0) return nfsSource({ server: text, path: '' });
  return nfsSource({ server: text.slice(0, colon), path: text.slice(colon + 1) });
}
