/** The values of iSCSI volumes that become arguments of `iscsiadm` and names of files, each with its check. */
import { checkedWord, hostNameOrAddress, type WordKind, type WordOf } from '../../../programs/index.js';
import { remoteDiskLimits } from './limits.js';

const qualifiedName = /^iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[A-Za-z0-9._:-]+)?$/;
const otherName = /^(eui\.[0-9A-Fa-f]{16}|naa\.([0-9A-Fa-f]{16}|[0-9A-Fa-f]{32}))$/;

/** The name of a target or an initiator. */
export const iscsiName: WordKind<'iSCSI name'> = {
  kind: 'iSCSI name',
  problem: (value) => {
    if (Buffer.byteLength(value) > remoteDiskLimits.iscsiNameBytes)
      return `must be no longer than ${remoteDiskLimits.iscsiNameBytes} bytes`;
    if (!value.includes('..') && (qualifiedName.test(value) || otherName.test(value))) return undefined;
    return 'must be an iSCSI name, for example iqn.2001-04.com.example:storage.disk1';
  },
};
export type IscsiName = WordOf<typeof iscsiName>;

/** The name of a record of settings that `iscsiadm` has for an interface. */
export const iscsiInterface: WordKind<'iSCSI interface'> = {
  kind: 'iSCSI interface',
  problem: (value) =>
    /^[A-Za-z0-9_[][A-Za-z0-9_.:[\]-]{0,254}$/.test(value)
      ? undefined
      : 'must be the name of an iSCSI interface: letters, digits, "_", ".", ":" and "-"',
};
export type IscsiInterface = WordOf<typeof iscsiInterface>;

const defaultPort = 3260;

/** An address with its port. */
export const iscsiPortal: WordKind<'iSCSI portal'> = {
  kind: 'iSCSI portal',
  problem: (value) => {
    const [, address = '', port = ''] = /^(.*):([0-9]{1,5})$/s.exec(value) ?? [];
    const number = Number(port);
    const isBare = address.includes(':') && !address.startsWith('[');
    if (address === '' || isBare || number < 1 || number > 65535 || address.includes('%'))
      return 'must be an address with a port, for example 192.0.2.7:3260 or [2001:db8::7]:3260';
    return address.startsWith('-') ? 'must not begin with "-"' : hostNameOrAddress.problem(address);
  },
};
export type IscsiPortal = WordOf<typeof iscsiPortal>;

/** A portal as a volume names it: the port may be missing, and brackets around an IPv6 address. */
export function portalOf(field: string, text: string): IscsiPortal {
  const isBareAddress = /^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$/.test(text);
  if (isBareAddress) return checkedWord(iscsiPortal, field, `[${text}]:${defaultPort}`);
  const hasPort = text.startsWith('[') ? !text.endsWith(']') : text.includes(':');
  return checkedWord(iscsiPortal, field, hasPort ? text : `${text}:${defaultPort}`);
}
