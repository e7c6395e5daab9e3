/** Holds `docs/limits.md` to the constants that it tells of: every number is that of the code, and none is missing. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { controllerLimits } from '../src/controllers/limits.js';
import { dbusLimits } from '../src/dbus/limits.js';
import { grpcClientLimits, grpcServerLimits } from '../src/grpc/limits.js';
import { hollowLimits } from '../src/hollow/limits.js';
import { httpGetLimits } from '../src/http-get/limits.js';
import { kubeApiLimits } from '../src/kube-api/limits.js';
import { apiClientLimits } from '../src/kube-client/limits.js';
import { pageLimits } from '../src/page/limits.js';
import { pluginLimits } from '../src/plugins/limits.js';
import { podsApiLimits } from '../src/pods/pods-api/limits.js';
import { followedFilesLimits } from '../src/pods/sources/limits.js';
import { recordLimits } from '../src/replay/limits.js';
import { deviceLimits } from '../src/resources/device-manager/limits.js';
import { draLimits } from '../src/resources/dra/limits.js';
import { statsLimits } from '../src/resources/stats/limits.js';
import { imageCredentialLimits } from '../src/runtime-manager/images/limits.js';
import {
  defaultLimits,
  mainLimits,
  profileLimits,
  timelineLimits,
  upgradeProxyLimits,
} from '../src/server/limits.js';
import { servicesLimits } from '../src/services/limits.js';
import {
  spdyLimits,
  streamingClientLimits,
  streamingLimits,
  webSocketLimits,
} from '../src/streaming/limits.js';
import { traceLimits } from '../src/tracing/limits.js';
import { csiLimits } from '../src/volumes/csi/limits.js';
import { flexLimits } from '../src/volumes/plugins/flex/limits.js';
import { remoteDiskLimits } from '../src/volumes/plugins/remote-disks/limits.js';
import { podCertificateLimits } from '../src/volumes/pod-certificates/limits.js';

const tables: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'src/server/limits.ts defaultLimits': { ...defaultLimits },
  'src/server/limits.ts mainLimits': mainLimits,
  'src/server/limits.ts upgradeProxyLimits': upgradeProxyLimits,
  'src/server/limits.ts profileLimits': profileLimits,
  'src/server/limits.ts timelineLimits': timelineLimits,
  'src/hollow/limits.ts hollowLimits': hollowLimits,
  'src/page/limits.ts pageLimits': pageLimits,
  'src/streaming/limits.ts streamingLimits': streamingLimits,
  'src/streaming/limits.ts webSocketLimits': webSocketLimits,
  'src/streaming/limits.ts spdyLimits': spdyLimits,
  'src/streaming/limits.ts streamingClientLimits': streamingClientLimits,
  'src/kube-client/limits.ts apiClientLimits': apiClientLimits,
  'src/runtime-manager/images/limits.ts imageCredentialLimits': imageCredentialLimits,
  'src/http-get/limits.ts httpGetLimits': httpGetLimits,
  'src/dbus/limits.ts dbusLimits': dbusLimits,
  'src/grpc/limits.ts grpcClientLimits': grpcClientLimits,
  'src/grpc/limits.ts grpcServerLimits': grpcServerLimits,
  'src/plugins/limits.ts pluginLimits': pluginLimits,
  'src/pods/sources/limits.ts followedFilesLimits': followedFilesLimits,
  'src/pods/pods-api/limits.ts podsApiLimits': podsApiLimits,
  'src/volumes/csi/limits.ts csiLimits': csiLimits,
  'src/volumes/pod-certificates/limits.ts podCertificateLimits': podCertificateLimits,
  'src/volumes/plugins/remote-disks/limits.ts remoteDiskLimits': remoteDiskLimits,
  'src/volumes/plugins/flex/limits.ts flexLimits': flexLimits,
  'src/resources/device-manager/limits.ts deviceLimits': deviceLimits,
  'src/resources/dra/limits.ts draLimits': draLimits,
  'src/resources/stats/limits.ts statsLimits': { ...statsLimits },
  'src/tracing/limits.ts traceLimits': traceLimits,
  'src/replay/limits.ts recordLimits': recordLimits,
  'src/services/limits.ts servicesLimits': servicesLimits,
  'src/controllers/limits.ts controllerLimits': controllerLimits,
  'src/kube-api/limits.ts kubeApiLimits': kubeApiLimits,
};

/** As people read it: the unit is at the end of the constant's name. */
function shown(name: string, value: number): string {
  const in_ = (units: readonly (readonly [string, number])[]): string => {
    const [unit, size] = units.find(([, each]) => value % each === 0) ?? ['', 1];
    return `${value / size} ${unit}`.trim();
  };
  if (name.endsWith('Ms')) {
    return in_([
      ['h', 3_600_000],
      ['min', 60_000],
      ['s', 1000],
      ['ms', 1],
    ]);
  }
  if (name.endsWith('Bytes')) {
    return in_([
      ['MiB', 1 << 20],
      ['KiB', 1 << 10],
      ['bytes', 1],
    ]);
  }
  if (name.endsWith('Megabytes')) return `${value} MB`;
  return value.toLocaleString('en-US');
}

it('docs/limits.md shows every limit as the code has it', () => {
  const page = readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8');
  const told: Record<string, Record<string, string>> = {};
  let section: Record<string, string> = {};
  for (const line of page.split('\n')) {
    const [, file, table] = /^`(src\/\S+)`, `(\w+)`/.exec(line) ?? [];
    if (file !== undefined) {
      section = {};
      told[`${file} ${table}`] = section;
    }
    const [, number, name] = /^\|[^|]+\|\s*([^|]+?)\s*\|[^|]+\|\s*`(\w+)`\s*\|$/.exec(line) ?? [];
    if (name !== undefined && number !== undefined) section[name] = number;
  }
  const expected = Object.fromEntries(
    Object.entries(tables).map(([table, limits]) => [
      table,
      Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, shown(name, value)])),
    ]),
  );
  expect(told).toEqual(expected);
});
