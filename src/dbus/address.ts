/** Addresses of buses (D-Bus Specification, "Server Addresses"): where a client finds the socket. */

const defaultSystemBus = 'unix:path=/var/run/dbus/system_bus_socket';
/** systemd's own socket for root: the same protocol with no bus in between. */
export const systemdPrivateSocket = '/run/systemd/private';

/** The sockets to try in turn, as Node names them: a path, or a name that begins with a zero byte. */
export function systemBusSockets(environment: NodeJS.ProcessEnv): readonly string[] {
  return parseBusAddress(environment.DBUS_SYSTEM_BUS_ADDRESS || defaultSystemBus);
}

/** Throws where no part of the address is a unix socket. */
export function parseBusAddress(address: string): readonly string[] {
  const sockets = address.split(';').flatMap((part) => {
    const [, transport, pairs] = /^([a-z-]+):(.*)$/.exec(part) ?? [];
    if (transport !== 'unix' || pairs === undefined) return [];
    return pairs.split(',').flatMap((pair) => {
      const [key = '', value = ''] = splitOnce(pair, '=');
      const name = unescaped(value);
      if (name === undefined || name === '' || name.includes('\0')) return [];
      if (key === 'path') return [name];
      return key === 'abstract' ? [`\0${name}`] : [];
    });
  });
  if (sockets.length === 0)
    throw new Error(
      `the D-Bus address ${JSON.stringify(address)} has no unix:path= and no unix:abstract=: correct DBUS_SYSTEM_BUS_ADDRESS`,
    );
  return sockets.slice(0, triedSockets);
}

/** Of an address with many parts, which only an administrator writes. */
const triedSockets = 4;

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Bytes outside a small set are written as `%` and two hexadecimal digits. */
function unescaped(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
