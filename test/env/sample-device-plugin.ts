/** Kubernetes' sample device plugin as a process of the test: two devices, and the directories of the test's node. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemEnvironment } from './command.js';
import { controlPlaneProgram } from './control-plane-binaries.js';

export const sampleResource = 'example.com/resource';

/**
 * The plugin knows only fixed directories, which other nodes of the machine may use. It sees the test's in their places,
 * in a mount namespace of its own.
 */
const inOwnPlaces = `
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /run
mkdir -p /var/lib/kubelet/device-plugins /run/cdi
mount --bind "$1" /var/lib/kubelet/device-plugins
mount --bind "$2" /run/cdi
exec "$3"
`;

export interface SamplePluginPlaces {
  /** The node's `--device-plugin-dir`. */
  readonly directory: string;
  /** Where the plugin describes its devices for the runtime; without it, it gives a file of `/tmp` as a mount only. */
  readonly cdiSpecDir?: string;
}

export class SampleDevicePlugin {
  #process: ChildProcess | undefined;

  private constructor(
    readonly places: SamplePluginPlaces,
    readonly program: string,
  ) {}

  /** Finds or builds the program; starts nothing. */
  static async find(places: SamplePluginPlaces): Promise<SampleDevicePlugin> {
    return new SampleDevicePlugin(places, await controlPlaneProgram('sample-device-plugin'));
  }

  get checkpoint(): string {
    return join(this.places.directory, 'kubelet_internal_checkpoint');
  }

  /** The socket must be there: a plugin that finds none ends itself. */
  get registrationSocket(): string {
    return join(this.places.directory, 'kubelet.sock');
  }

  async start(): Promise<void> {
    const { directory, cdiSpecDir = join(directory, 'no-cdi') } = this.places;
    mkdirSync(cdiSpecDir, { recursive: true });
    const cdi = this.places.cdiSpecDir === undefined ? {} : { CDI_ENABLED: '1' };
    const started = spawn(
      'setpriv',
      [
        ...['--pdeathsig', 'KILL', 'unshare', '--mount', '--propagation', 'private'],
        ...['sh', '-e', '-c', inOwnPlaces, 'plugin', directory, cdiSpecDir, this.program],
      ],
      { stdio: 'ignore', env: systemEnvironment(cdi) },
    );
    this.#process = started;
    await once(started, 'spawn');
  }

  /** On SIGTERM the plugin takes its socket and descriptions away; on SIGKILL they stay. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process;
    if (running === undefined) return;
    this.#process = undefined;
    if (running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill(signal);
    await ended;
  }

  /** Whether nodelet has noted both devices. */
  isReported(): boolean {
    if (!existsSync(this.checkpoint)) return false;
    const { Data } = JSON.parse(readFileSync(this.checkpoint, 'utf8'));
    return Data.RegisteredDevices[sampleResource]?.length === 2;
  }

  /** Before an agent starts: so that what is there afterwards is the new agent's. */
  removeSocket(): void {
    rmSync(this.registrationSocket, { force: true });
  }
}
