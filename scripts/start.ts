/** `npm start`: runs the example pods on this machine; arguments go to `nodelet run`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));

/** Starts the page of the run, which need not be there yet. */
async function openPage(): Promise<{ readonly address: string; close(): void }> {
  const ui = spawn(process.execPath, [path.join(project, 'bin/nodelet'), 'ui', '--wait'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [said] = await Promise.race([
    once(ui.stdout, 'data'),
    once(ui, 'exit').then(() => ['(the page did not start)']),
  ]);
  return { address: String(said).trim(), close: () => void ui.kill('SIGTERM') };
}

async function main(): Promise<number> {
  const given = process.argv.slice(2);
  const page = await openPage();
  const manifests = path.relative(process.cwd(), path.join(project, 'examples/pods'));
  process.stdout.write(
    `nodelet run ${[manifests, ...given].join(' ')}\n` +
      'Meanwhile, in another terminal: bin/nodelet ps, bin/nodelet logs web -c client, bin/nodelet explain crash\n' +
      `In a browser: ${page.address}\n\n`,
  );
  const run = spawn(process.execPath, [path.join(project, 'bin/nodelet'), 'run', manifests, ...given], {
    stdio: 'inherit',
  });
  const exited = once(run, 'exit');
  // The terminal sends Ctrl-C to the run, too; this process only waits for its end.
  process.on('SIGINT', () => {}).on('SIGTERM', () => run.kill('SIGTERM'));
  await exited;
  page.close();
  return run.exitCode ?? 1;
}

process.exitCode = await main();
