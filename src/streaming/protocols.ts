/** The sub-protocols of exec, attach, port-forward and streamed bodies, and the choice among those that a client offers. */

/** The version of the SPDY remote-command protocol. */
export type CommandVersion = 1 | 2 | 3 | 4;

export const spdyCommandProtocols: ReadonlyMap<string, CommandVersion> = new Map<string, CommandVersion>([
  ['v4.channel.k8s.io', 4],
  ['v3.channel.k8s.io', 3],
  ['v2.channel.k8s.io', 2],
  ['channel.k8s.io', 1],
]);

export const portForwardProtocol = 'portforward.k8s.io';

export interface WebSocketProtocol {
  readonly encoding: 'binary' | 'base64';
  /** Whether the status of a command is always sent, as JSON. */
  readonly jsonStatus: boolean;
  /** Whether the client can close a channel. */
  readonly closeSignal: boolean;
}

const plainChannels: WebSocketProtocol = { encoding: 'binary', jsonStatus: false, closeSignal: false };

/** The empty name is for a client that offers no protocol. */
export const webSocketCommandProtocols: ReadonlyMap<string, WebSocketProtocol> = new Map<
  string,
  WebSocketProtocol
>([
  ['', plainChannels],
  ['channel.k8s.io', plainChannels],
  ['base64.channel.k8s.io', { ...plainChannels, encoding: 'base64' }],
  ['v4.channel.k8s.io', { encoding: 'binary', jsonStatus: true, closeSignal: false }],
  ['v4.base64.channel.k8s.io', { encoding: 'base64', jsonStatus: true, closeSignal: false }],
  ['v5.channel.k8s.io', { encoding: 'binary', jsonStatus: true, closeSignal: true }],
]);

export const webSocketPortForwardProtocols: ReadonlyMap<string, WebSocketProtocol> = new Map<
  string,
  WebSocketProtocol
>([
  ['', plainChannels],
  ['v4.channel.k8s.io', plainChannels],
  ['v4.base64.channel.k8s.io', { ...plainChannels, encoding: 'base64' }],
]);

/** For a body that is streamed as messages, such as a log. */
export const webSocketBodyProtocols: ReadonlyMap<string, WebSocketProtocol> = new Map<
  string,
  WebSocketProtocol
>([
  ['', plainChannels],
  ['binary.k8s.io', plainChannels],
  ['base64.binary.k8s.io', { ...plainChannels, encoding: 'base64' }],
]);

/** The items of a header that may be repeated and contain lists. */
export function listedValues(header: string | readonly string[] | undefined): readonly string[] {
  const values = typeof header === 'string' ? [header] : (header ?? []);
  return values.flatMap((value) => value.split(',').map((item) => item.trim())).filter((item) => item !== '');
}

/** The first offered protocol that the server knows. */
export function firstKnown<T>(
  offered: readonly string[],
  known: ReadonlyMap<string, T>,
): { readonly name: string; readonly value: T } | undefined {
  for (const name of offered) {
    const value = known.get(name);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}
