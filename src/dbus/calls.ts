/** What is said on a D-Bus connection, as its users say it: calls, signals, and which signals to hear. */
import type { Clock } from '../async/index.js';
import type { DbusMessage } from './message.js';
import type { DbusValue } from './values.js';

export interface DbusCall {
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

export interface DbusCallOptions {
  readonly signal?: AbortSignal;
  /** Default: `dbusLimits.callMs`. */
  readonly timeoutMs?: number;
}

export interface DbusSignal {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** Which signals a listener hears. */
export interface SignalMatch {
  /** The name whose owner sends them: others can send signals of the same interface through a bus. */
  readonly sender: string;
  readonly interface: string;
  readonly member: string;
  readonly path: string;
}

export interface DbusReply {
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** Answers the calls of others; a DbusError becomes the error reply of its name. */
export type CallHandler = (call: DbusMessage) => Promise<DbusReply>;

export interface DbusConnectOptions {
  readonly socketPath: string;
  /** Whether a bus is at the other end, and not the peer itself. */
  readonly isBus: boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Default: every call of others is answered with UnknownMethod. */
  readonly onCall?: CallHandler;
}

/** The bus itself. */
export const busCall = (member: string, signature = '', body: readonly DbusValue[] = []): DbusCall => ({
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
  member,
  signature,
  body,
});

export function matchRule({ sender, interface: name, member, path }: SignalMatch): string {
  return `type='signal',sender='${sender}',interface='${name}',member='${member}',path='${path}'`;
}
