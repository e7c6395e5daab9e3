/** `nodelet hollow` as a person starts it: a process with a socket of its own, on the control plane of a test or a bench. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HollowProcessReport } from '../../src/hollow/index.js';
import { machineAddress } from '../env/addresses.js';
import {
  type CleanupStack,
  type CommandResult,
  type ControlPlane,
  createTempDir,
  pollUntil,
  runCommand,
} from '../env/index.js';
import { ServerProcess } from '../env/server-process.js';

export interface HollowFleetOptions {
  readonly cleanups: CleanupStack;
  readonly plane: ControlPlane;
  readonly flags: readonly string[];
  /** Default: this project's. */
  readonly program?: string;
}

export async function startHollowFleet({
  cleanups,
  plane,
  flags,
  program = nodelet,
}: HollowFleetOptions): Promise<HollowFleet> {
  const { path: dir } = await createTempDir('hollow', { cleanups });
  const address = machineAddress();
  // The API server of tests wants to know whom it speaks to.
  const { certificate, key } = plane.pki.issueFiles('hollow', {
    subject: { commonName: 'hollow', organizations: [] },
    server: { dnsNames: [], ipAddresses: [address] },
  });
  const socket = join(dir, 'hollow.sock');
  const logPath = join(dir, 'hollow.log');
  const fleet = new HollowFleet(
    socket,
    new ServerProcess({
      name: 'nodelet hollow',
      program: process.execPath,
      args: [
        program,
        'hollow',
        `--kubeconfig=${plane.adminKubeconfig}`,
        `--address=${address}`,
        `--tls-cert-file=${certificate}`,
        `--tls-private-key-file=${key}`,
        `--socket=${socket}`,
        ...flags,
      ],
      logPath,
      isReady: () =>
        fleet.command('ps').then(
          () => true,
          () => false,
        ),
      startTimeoutMs: 60_000,
    }),
  );
  cleanups.defer('nodelet hollow', () => fleet.process.kill());
  await fleet.process.start();
  return fleet;
}

export class HollowFleet {
  readonly #socket: string;
  readonly process: ServerProcess;

  constructor(socket: string, process: ServerProcess) {
    this.#socket = socket;
    this.process = process;
  }

  /** `nodelet hollow COMMAND …` as another terminal would give it. */
  command(...args: readonly string[]): Promise<CommandResult> {
    return runCommand(process.execPath, [nodelet, 'hollow', ...args, `--socket=${this.#socket}`]);
  }

  async report(): Promise<HollowProcessReport> {
    return JSON.parse((await this.command('ps', '-o', 'json')).stdout);
  }

  /** Waits until all nodes of the process have a state. */
  async until(state: string, count: number, timeoutMs = 120_000): Promise<void> {
    let last: HollowProcessReport | undefined;
    await pollUntil(
      `${count} hollow nodes are ${state}`,
      async () => {
        last = await this.report();
        return last.nodes.filter((node) => node.state === state).length === count ? true : undefined;
      },
      {
        timeoutMs,
        intervalMs: 500,
        detail: () => `${JSON.stringify(last)}\n${this.process.logs().slice(-3000)}`,
      },
    );
  }
}

const nodelet = process.env.NODELET_BUNDLE ?? fileURLToPath(new URL('../../bin/nodelet', import.meta.url));
