/**
 * `tsx scripts/node-versions.ts 22,24 COMMAND …`: runs the command once by each of these versions of Node, which stands
 * first in its PATH. Stops at the first failure. The versions come from the npm registry and stay in a cache.
 * `--others` leaves out the version that runs this script.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { environmentDir } from '../test/env/directories.js';

/** Where users without rights may run it, too: some tests are theirs. */
const cache = path.join(environmentDir(), 'node');

async function main(given: readonly string[]): Promise<number> {
  const others = given[0] === '--others';
  const [list = '', ...command] = others ? given.slice(1) : given;
  const own = process.versions.node.replace(/\..*/, '');
  const majors = list.split(',').filter((major) => !others || major !== own);
  const [program, ...args] = command;
  if (program === undefined || majors.some((major) => !/^\d+$/.test(major))) {
    process.stderr.write('usage: tsx scripts/node-versions.ts [--others] 20,26 COMMAND [ARGUMENT …]\n');
    return 2;
  }
  for (const major of majors) {
    const node = installedNode(major);
    process.stdout.write(`\n=== Node ${versionOf(node)}: ${command.join(' ')}\n`);
    const env = { ...process.env, PATH: `${path.dirname(node)}:${process.env.PATH ?? ''}` };
    const child = spawn(program, args, { env, stdio: 'inherit' });
    // The terminal's Ctrl-C reaches the command, too; this process only waits for its end.
    process.on('SIGINT', () => {}).on('SIGTERM', () => child.kill('SIGTERM'));
    const [code] = await once(child, 'exit');
    process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM');
    if (code !== 0) {
      process.stderr.write(`node-versions: failed on Node ${versionOf(node)}\n`);
      return 1;
    }
  }
  return 0;
}

/** The newest of a major version at the time when it was first asked for. */
function installedNode(major: string): string {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = path.join(cache, `node-${major}`);
  const node = path.join(prefix, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  mkdirSync(prefix, { recursive: true });
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', ['install', ...quiet, '--prefix', prefix, `${name}@${major}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm cannot install Node ${major} from the package ${name}`);
  return node;
}

function versionOf(node: string): string {
  const { stdout, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return stdout.trim().replace(/^v/, '');
}

process.exitCode = await main(process.argv.slice(2));
