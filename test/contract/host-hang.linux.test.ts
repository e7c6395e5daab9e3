/** File systems that do not answer hold up nobody but those who need them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { type Host, hostApart, Lanes, linuxHost } from '../../src/host/index.js';
import { linuxMachine } from '../../src/resources/stats/index.js';
import { serveFile } from '../../src/server/node-logs/files.js';
import { setVolumeOwnership } from '../../src/volumes/ownership/index.js';
import { hostPathVolumes } from '../../src/volumes/plugins/host-path.js';
import { localVolumes } from '../../src/volumes/plugins/local.js';
import { prepareSubPath } from '../../src/volumes/subpath/index.js';
import { type HungMounts, hungMounts } from './hung-mounts.js';

vi.setConfig({ testTimeout: 60_000 });

/** More than the four threads that Node has for files, and than there are lanes. */
const count = 9;
let directory: string;
let hung: HungMounts;
let lanes: Lanes;
let host: Host;

beforeEach(() => {
  directory = realpathSync(mkdtempSync('/var/tmp/nodelet-hang-'));
  hung = hungMounts(directory, count);
  lanes = new Lanes({ clock: systemClock, limitMs: 1_000 });
  host = linuxHost({ lanes });
});
afterEach(async () => {
  hung.end();
  await until(() => lanes.leftBehind === 0);
  for (const path of hung.paths) rmdirSync(path);
  rmSync(directory, { recursive: true });
});

/** What another pod does meanwhile. */
async function othersGoOn(): Promise<void> {
  const dir = join(directory, 'other');
  await host.files.mkdir(dir);
  await host.files.writeFile(join(dir, 'file'), 'x');
  expect(await host.apart(dir).files.readdir(dir)).toEqual(['file']);
  await host.files.unlink(join(dir, 'file'));
  await host.files.rmdir(dir);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries++) await new Promise((go) => setTimeout(go, 10));
  expect(condition()).toBe(true);
}

/** What a call fails with, which may be before anybody looks. */
function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

const at = (index: number): string => hung.paths[index] ?? '';

it('a call is given up, calls of the same key fail at once, and work again when it came back', async () => {
  const first = failureOf(host.apart('key').files.stat(at(0)));
  await othersGoOn();
  expect(await first).toMatchObject({
    code: 'ETIMEDOUT',
    message: `ETIMEDOUT: ${at(0)} does not answer`,
  });
  await expect(host.apart('key').files.stat('/')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  expect(lanes.leftBehind).toBe(1);
  hung.end();
  await until(() => lanes.leftBehind === 0);
  expect((await host.apart('key').files.stat('/')).kind).toBe('directory');
});

it('more of them than there are threads and lanes leave the node alive', async () => {
  const calls = hung.paths.map((path) =>
    failureOf(
      host
        .apart(path)
        .hold(path)
        .then((held) => held.stat()),
    ),
  );
  await othersGoOn();
  for (const failure of await Promise.all(calls)) expect(failure).toMatchObject({ code: 'ETIMEDOUT' });
  expect(lanes.leftBehind).toBe(count);
  await othersGoOn();
});

it('as many as may be left behind are left behind, and no more threads are made', async () => {
  const few = new Lanes({ clock: systemClock, limitMs: 100, mostLeftBehind: 2 });
  const limited = linuxHost({ lanes: few });
  const stat = (index: number): Promise<unknown> => limited.apart(at(index)).files.stat(at(index));
  for (let index = 0; index < 2; index++) await expect(stat(index)).rejects.toThrow('does not answer');
  await expect(stat(2)).rejects.toThrow('2 file systems of this node do not answer');
  expect(few.leftBehind).toBe(2);
  hung.end();
  await until(() => few.leftBehind === 0);
});

describe('wherever a pod may name such a place', () => {
  const signal = new AbortController().signal;
  const pod = {
    metadata: { uid: 'uid', name: 'p', namespace: 'default' },
    spec: { containers: [], securityContext: { fsGroup: 1000 } },
  };
  const inline = (path: string, type: string) => ({
    pod,
    spec: { kind: 'inline' as const, volume: { name: 'v', hostPath: { path, type } } },
    isRemount: false,
    signal,
  });
  const persistent = (path: string) => ({
    pod,
    spec: {
      kind: 'persistent' as const,
      volume: { name: 'v' },
      persistentVolume: { metadata: { name: 'pv' }, spec: { local: { path } } },
      readOnly: false,
    },
    isRemount: false,
    signal,
  });

  it('nothing else waits', async () => {
    const rootDir = join(directory, 'root');
    mkdirSync(join(rootDir, 'pods/uid'), { recursive: true });
    const plugin = hostPathVolumes({ host });
    const machine = linuxMachine({ clock: systemClock, host });
    const calls: Record<string, Promise<unknown>> = {
      'hostPath set-up': plugin.setUp(inline(at(0), 'Directory')),
      'hostPath that is to be made': plugin.setUp(inline(join(at(1), 'new'), 'DirectoryOrCreate')),
      'local set-up': localVolumes({ host, clock: systemClock, rootDir }).setUp(persistent(at(2))),
      subPath: prepareSubPath({
        host,
        podDirectory: join(rootDir, 'pods/uid'),
        innerVolumeName: 'v',
        containerName: 'main',
        mountIndex: 0,
        volumePath: at(3),
        subPath: 'sub',
        volumeMountName: 'v',
      }).catch((error: Error) => {
        throw error.cause;
      }),
      ownership: setVolumeOwnership({
        host: hostApart(host, at(4)),
        clock: systemClock,
        directory: at(4),
        podUid: 'uid',
        fsGroup: 1000,
        readOnly: false,
      }),
      statistics: machine.fileSystem(at(5)),
    };
    const log = serveFile(host.apart('node logs'), directory, 'hung-6/messages', {
      path: '/logs/hung-6/messages',
      headers: {},
    } as never);
    const failures = Object.entries(calls).map(async ([what, call]) => ({
      what,
      error: await failureOf(call),
    }));
    await othersGoOn();
    for (const { what, error } of await Promise.all(failures))
      expect(error, what).toMatchObject({ code: 'ETIMEDOUT' });
    expect((await log).status).toBe(504);
    await othersGoOn();
  });
});

describe('a process with calls that do not come back', () => {
  let entry: string;
  let dir: string;
  beforeAll(async () => {
    dir = mkdtempSync('/var/tmp/nodelet-hang-entry-');
    entry = join(dir, 'entry.mjs');
    const index = fileURLToPath(new URL('../../src/host/index.ts', import.meta.url));
    const clock = fileURLToPath(new URL('../../src/async/index.ts', import.meta.url));
    writeFileSync(
      join(dir, 'entry.ts'),
      `import { Lanes, linuxHost } from ${JSON.stringify(index)};
import { systemClock } from ${JSON.stringify(clock)};
const host = linuxHost({ lanes: new Lanes({ clock: systemClock, limitMs: 100 }) });
await host.apart('key').files.stat(process.argv[2] ?? '').catch(({ code }) => process.stdout.write(code));
if (process.argv[3] === 'exit') process.exit(0);
`,
    );
    await build({
      entryPoints: [join(dir, 'entry.ts')],
      outfile: entry,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'error',
    });
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it.each(['exit', 'by itself'])('ends (%s)', async (how) => {
    const child = spawn(process.execPath, [entry, at(0), how], { stdio: ['ignore', 'pipe', 'inherit'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [, signal] = await once(child, 'close');
    expect([Buffer.concat(chunks).toString(), signal]).toEqual(['ETIMEDOUT', 'SIGKILL']);
  });
});
