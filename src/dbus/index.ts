/**
 * D-Bus for an agent of a machine: calls, replies and signals on the system bus or on systemd's own socket, and the units
 * of systemd. It knows no Kubernetes. The wire format and the authentication are private to the room.
 */
export { parseBusAddress, systemBusSockets, systemdPrivateSocket } from './address.js';
export {
  busCall,
  type CallHandler,
  type DbusCall,
  type DbusCallOptions,
  type DbusConnectOptions,
  type DbusReply,
  type DbusSignal,
  type SignalMatch,
} from './calls.js';
export { connectDbus, DbusConnection } from './connection.js';
export { DbusAuthRefused, DbusDisconnected, DbusError, DbusFormatError, isDbusError } from './errors.js';
export { dbusLimits } from './limits.js';
export type { DbusMessage } from './message.js';
export { type OpenSystemBusOptions, openSystemBus, SystemBus, type SystemBusOptions } from './system-bus.js';
export {
  createSystemdUnits,
  parseSystemdVersion,
  type SystemdUnits,
  type SystemdUnitsOptions,
  systemdManagerCall,
  type UnitProperty,
} from './systemd-units.js';
export { type DbusValue, type DbusVariant, isVariant } from './values.js';
