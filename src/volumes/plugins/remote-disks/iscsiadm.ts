/** The commands of `iscsiadm`, the administration program of open-iscsi, and what its exit codes mean. */
import { CommandLine, checkedWord, type WordKind } from '../../../programs/index.js';
import type { DiskSecret } from './disk-network.js';
import type { IscsiDisk } from './iscsi-disk.js';
import type { IscsiInterface, IscsiPortal } from './iscsi-words.js';
import { remoteDiskLimits } from './limits.js';

/** Exit codes of `iscsiadm` that are no failures where they are expected. */
export const iscsiadmExit = { done: 0, sessionNotFound: 2, sessionExists: 15, nothingFound: 21 } as const;

type RecordCommand = CommandLine<'none'>;

/** The name of one setting of a record. */
const settingName: WordKind<'iscsiadm setting'> = {
  kind: 'iscsiadm setting',
  problem: (value) =>
    /^[a-z][a-z0-9_.[\]]{0,99}$/.test(value) ? undefined : 'must be a setting of iscsiadm',
};

/** The record of a search for targets at a portal. */
export function discoveryRecord({ interfaceName }: IscsiDisk, portal: IscsiPortal): RecordCommand {
  return CommandLine.of('iscsiadm')
    .literal('-m', 'discoverydb', '-t', 'sendtargets')
    .optionWord('-p', portal)
    .optionWord('-I', interfaceName);
}

/** The record of a target at a portal, and its session. */
export function nodeRecord({ iqn, interfaceName }: IscsiDisk, portal: IscsiPortal): RecordCommand {
  return CommandLine.of('iscsiadm')
    .literal('-m', 'node')
    .optionWord('-p', portal)
    .optionWord('-T', iqn)
    .optionWord('-I', interfaceName);
}

export function interfaceRecord(name: IscsiInterface): RecordCommand {
  return CommandLine.of('iscsiadm').literal('-m', 'iface').optionWord('-I', name);
}

/** `iscsiadm` takes values only as arguments, secret ones, too. Joined, so that none can be taken for an option. */
export function update(record: RecordCommand, name: string, value: string): RecordCommand {
  return record
    .literal('-o', 'update')
    .optionWord('-n', checkedWord(settingName, 'setting', name))
    .option('--value', value);
}

export type ChapUse = 'discovery.sendtargets.auth' | 'node.session.auth';

const chapKeys = ['username', 'password', 'username_in', 'password_in'] as const;

/** The settings of CHAP from a secret. Throws without any content of the secret. */
export function chapSettings(use: ChapUse, secret: DiskSecret): readonly (readonly [string, string])[] {
  const settings: (readonly [string, string])[] = [[`${use}.authmethod`, 'CHAP']];
  for (const key of chapKeys) {
    const name = `${use}.${key}`;
    const value = secret[name] ?? '';
    if (value === '') continue;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    if (/[\u0000-\u001f\u007f]/.test(value))
      throw new Error(`the secret's ${name} must not have control characters`);
    if (Buffer.byteLength(value) > remoteDiskLimits.chapValueBytes)
      throw new Error(`the secret's ${name} must be no longer than ${remoteDiskLimits.chapValueBytes} bytes`);
    settings.push([name, value]);
  }
  if (settings.length === 1) throw new Error(`the secret has no ${use}.username and ${use}.password`);
  return settings;
}

/** Settings that a copy of an interface has a value of its own for. */
const ownSettings: ReadonlySet<string> = new Set(['iface.iscsi_ifacename', 'iface.initiatorname']);

/** The settings of an interface, from `iscsiadm -m iface -o show`, as far as a copy takes them over. */
export function interfaceSettings(output: string): readonly (readonly [string, string])[] {
  const settings: (readonly [string, string])[] = [];
  for (const line of output.split('\n')) {
    const [, name = '', value = ''] = /^(iface\.[a-z0-9_]{1,60}) = (\S{1,255})$/.exec(line.trim()) ?? [];
    if (name === '' || ownSettings.has(name) || value === '<empty>') continue;
    settings.push([name, value]);
  }
  return settings.slice(0, 64);
}
