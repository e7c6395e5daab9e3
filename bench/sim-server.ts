/** A simulated runtime as a process of its own: `tsx sim-server.ts SOCKET` serves until its standard input ends. */
import { serveCri } from '../src/cri/index.js';
import { SimRuntime } from '../src/runtimes/sim/index.js';

const [socketPath] = process.argv.slice(2);
if (socketPath === undefined) throw new Error('give the path of a socket to serve on');
const runtime = new SimRuntime();
const server = await serveCri(runtime, { socketPath });
process.stdout.write(`${server.endpoint}\n`);
process.stdin.resume().once('end', () => {
  void runtime.close();
  void server.close();
});
