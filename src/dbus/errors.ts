/** The ways in which a D-Bus call fails: the peer says so, the bytes or values are not D-Bus, or the connection is gone. */

import { dbusLimits } from './limits.js';

/** An error reply. `name` is the peer's, such as `org.freedesktop.systemd1.UnitExists`. */
export class DbusError extends Error {
  override readonly name: string;

  constructor(name: string, text: string | undefined, options?: ErrorOptions) {
    super((text === undefined || text === '' ? name : text).slice(0, dbusLimits.errorTextBytes), options);
    this.name = name;
  }
}

export function isDbusError(error: unknown, name: string): boolean {
  return error instanceof DbusError && error.name === name;
}

/** Bytes that are no D-Bus message, or a value that does not fit its signature. */
export class DbusFormatError extends Error {
  override readonly name = 'DbusFormatError';
}

/** The connection ended, so that nobody knows whether the peer has done what it was asked. */
export class DbusDisconnected extends Error {
  override readonly name = 'DbusDisconnected';
}

/** The server does not take this process for who it is. */
export class DbusAuthRefused extends Error {
  override readonly name = 'DbusAuthRefused';
}
