/**
 * `npm run test:fresh`: proves that a machine with Debian and Node alone can do what the README tells. Makes a root of
 * Debian's smallest packages, copies this machine's Node and package sources into it, clones the last commit, and there
 * runs `npm start` until the example pods run, then `npm test`. The root has mounts, processes and a network of its own,
 * which end with this program, however it ends.
 *
 * Arguments: the parts to run, of `start` and `test`; default both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CleanupStack, createTempDir, ensurePackages, pollUntil, sweepLeftovers } from '../test/env/index.js';
import { packagesFor } from '../test/env/programs.js';
import { inFreshRoot, npmStart, npmTest } from './fresh-machine/scripts.js';

const project = fileURLToPath(new URL('..', import.meta.url));
const suite = 'bookworm';
/** One part that takes longer is ended. */
const limitMs = 60 * 60_000;
const parts: Readonly<Record<string, string>> = { start: npmStart, test: npmTest };
/** What lets the root's apt and npm ask the servers that this machine asks. */
const copied = [
  '/etc/apt/apt.conf.d',
  '/etc/apt/auth.conf.d',
  '/etc/apt/keyrings',
  '/etc/apt/preferences.d',
  '/etc/apt/sources.list',
  '/etc/apt/sources.list.d',
  '/etc/apt/trusted.gpg.d',
  '/etc/hosts',
  '/etc/npmrc',
  '/etc/resolv.conf',
  '/etc/ssl/certs/ca-certificates.crt',
  '/root/.npmrc',
];
const keptVariables = [
  'LANG',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'http_proxy',
  'https_proxy',
  'no_proxy',
];

async function main(): Promise<number> {
  const given = process.argv.slice(2);
  const unknown = given.filter((part) => parts[part] === undefined);
  if (unknown.length > 0) {
    process.stderr.write(
      `test:fresh: no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}\n`,
    );
    return 2;
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write('test:fresh: only root can make a root with mounts of its own\n');
    return 2;
  }
  const cleanups = new CleanupStack();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  try {
    await sweepLeftovers();
    await ensurePackages(packagesFor('base', 'fresh'));
    const root = (await createTempDir('fresh', { cleanups })).path;
    await makeRoot(root, stop.signal);
    for (const part of given.length === 0 ? Object.keys(parts) : given) {
      say(`npm ${part} on the fresh machine`);
      await runInside(root, parts[part] ?? '', stop.signal);
    }
    say('all of it works on a fresh machine');
    return 0;
  } catch (error) {
    process.stderr.write(`test:fresh: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await cleanups.run();
  }
}

async function makeRoot(root: string, signal: AbortSignal): Promise<void> {
  say(`a root of Debian ${suite}`);
  const inOwnNamespace = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  await run([...inOwnNamespace, 'debootstrap', '--variant=minbase', suite, root], signal);
  for (const file of copied) {
    const [from, to] = [file, path.join(root, file)];
    if (existsSync(from)) cpSync(from, to, { recursive: true, dereference: true });
  }
  copyNode(root);
  mkdirSync(path.join(root, 'old-root'));
  writeFileSync(path.join(root, 'etc/hostname'), 'fresh\n');
  await run(['git', 'clone', '--quiet', '--no-hardlinks', project, path.join(root, 'root/nodelet')], signal);
}

function copyNode(root: string): void {
  const npmCli = process.env.npm_execpath;
  if (npmCli === undefined) throw new Error('run it by npm, whose program is copied: npm run test:fresh');
  const [bin, modules] = ['usr/local/bin', 'usr/local/lib/node_modules'];
  mkdirSync(path.join(root, modules), { recursive: true });
  cpSync(process.execPath, path.join(root, bin, 'node'));
  chmodSync(path.join(root, bin, 'node'), 0o755);
  cpSync(path.dirname(path.dirname(npmCli)), path.join(root, modules, 'npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(root, bin, name));
  }
}

/** A process that carries packets between the two networks, so that package servers are reached, and nothing of the machine's. */
async function runInside(root: string, script: string, signal: AbortSignal): Promise<void> {
  const inside = start(inFreshRoot(root, script), signal);
  const exited = ended(inside, 'the fresh machine');
  const hasOwnNetwork = (): true | undefined =>
    readlinkSync(`/proc/${inside.pid}/ns/net`) === readlinkSync('/proc/self/ns/net') ? undefined : true;
  await pollUntil('the fresh machine has a network', hasOwnNetwork, { timeoutMs: 30_000 });
  const flags = ['--configure', '--mtu=65520', '--disable-host-loopback'];
  const line = start(['slirp4netns', ...flags, String(inside.pid), 'tap0'], signal);
  // Should the line break, the packages that are missing then make the tests fail.
  const lineEnded = once(line, 'close').catch(() => undefined);
  try {
    await exited;
  } finally {
    line.kill('SIGKILL');
    await lineEnded;
  }
}

async function run(command: readonly string[], signal: AbortSignal): Promise<void> {
  await ended(start(command, signal), command[0] ?? '');
}

/** The command dies with this program. */
function start(command: readonly string[], signal: AbortSignal): ChildProcess {
  const env = Object.fromEntries(keptVariables.map((name) => [name, process.env[name]]));
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...env, HOME: '/root', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    signal,
    killSignal: 'SIGKILL',
    timeout: limitMs,
  });
}

async function ended(child: ChildProcess, what: string): Promise<void> {
  const [code, killedBy] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${what} ended with ${String(code ?? killedBy)}`);
}

function say(what: string): void {
  process.stdout.write(`\n=== ${what}\n`);
}

process.exitCode = await main();
