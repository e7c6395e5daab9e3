/** The value types of the kubelet's flags, by the kinds of configuration values. */
import { bool, type FlagType, string } from '../flags/index.js';
import { formatQuantity, parseDuration, parseQuantity } from '../kube/index.js';
import type { FlagForm, ValueKind } from './fields.js';
import {
  joinHeaders,
  parseBoolMap,
  parseCommaList,
  parseFloatText,
  parseHeaders,
  parseInt32,
  parseInt64,
  parseIp,
  parseLabels,
  parseMemoryReservations,
  parsePairs,
  parseTaints,
  parseUint32,
  parseVersionRequest,
  parseVModule,
  type VersionRequest,
} from './flag-values.js';

export type FlagKind = ValueKind | FlagForm | 'labels' | 'version';

/** A later occurrence replaces an earlier one. */
function scalar<Value>(valueName: string, parse: (text: string) => Value): FlagType<Value | undefined> {
  return { valueName, unset: undefined, parse };
}

/** A later occurrence adds to an earlier one. */
function list<Item>(valueName: string, parse: (text: string) => readonly Item[]): FlagType<readonly Item[]> {
  return { valueName, unset: [], parse, join: (earlier, later) => [...earlier, ...later] };
}

/** A later occurrence adds its keys to an earlier one. */
function map<Item>(
  valueName: string,
  parse: (text: string) => Readonly<Record<string, Item>>,
): FlagType<Readonly<Record<string, Item>>> {
  return { valueName, unset: {}, parse, join: (earlier, later) => ({ ...earlier, ...later }) };
}

export const durationType = scalar('DURATION', parseDuration);

export const versionType: FlagType<VersionRequest | undefined> = {
  valueName: '',
  bareText: 'true',
  unset: undefined,
  parse: parseVersionRequest,
};

export const flagTypes: Readonly<Record<FlagKind, FlagType>> = {
  bool,
  int32: scalar('N', parseInt32),
  int64: scalar('N', parseInt64),
  uint32: scalar('N', parseUint32),
  float: scalar('N', parseFloatText),
  string,
  duration: durationType,
  durationOrNanos: durationType,
  quantity: scalar('QUANTITY', (text) => formatQuantity(parseQuantity(text))),
  ip: { ...scalar('IP', parseIp), join: (earlier, later) => later ?? earlier },
  stringList: list('A,B', parseCommaList),
  int32List: list('A,B', (text) => parseCommaList(text).map(parseInt32)),
  stringMap: map('KEY=VALUE', (text) => Object.fromEntries(parsePairs(text, '='))),
  lessThanMap: map('SIGNAL<VALUE', (text) => Object.fromEntries(parsePairs(text, '<'))),
  boolMap: map('NAME=BOOL', parseBoolMap),
  headerMap: { ...map('NAME:VALUE', parseHeaders), secret: true, join: joinHeaders },
  labels: map('KEY=VALUE', parseLabels),
  taints: scalar('KEY=VALUE:EFFECT', parseTaints),
  memoryReservations: list('NODE:TYPE=QUANTITY', parseMemoryReservations),
  podPriorityGracePeriods: scalar('A,B', () => {
    throw new Error('can only be set in the configuration file');
  }),
  vmodule: list('PATTERN=N', parseVModule),
  version: versionType,
};
