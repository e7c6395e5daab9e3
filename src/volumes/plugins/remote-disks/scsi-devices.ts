/** The SCSI devices of the machine: their links, their multipath devices, and how they are removed. */
import { basename, join } from 'node:path/posix';
import { type Clock, isCancelled, sleep, TimedOut, withTimeout } from '../../../async/index.js';
import { exists, type Host, isMissing, namesIn } from '../../../host/index.js';
import { absolutePath, CommandLine, checkedWord, type WordKind } from '../../../programs/index.js';
import type { ToolOutcome } from '../disk-format.js';
import type { RunTool } from '../disk-tools.js';
import { remoteDiskLimits } from './limits.js';

const sysBlock = '/sys/block';
/** Between two looks for a device. */
const lookMs = 1_000;
/** A whole disk, as the kernel names it. */
const diskWord: WordKind<'disk'> = {
  kind: 'disk',
  problem: (value) => (/^[a-z]+[a-z0-9-]*$/.test(value) ? undefined : 'is no disk'),
};
const shownChars = 300;

export interface ScsiDevicesOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** Left out on a machine that is not this process's own. */
  readonly run?: RunTool | undefined;
}

export class ScsiDevices {
  readonly #options: ScsiDevicesOptions;

  constructor(options: ScsiDevicesOptions) {
    this.#options = options;
  }

  /** Runs a program of the machine, within the limit. */
  async run(command: CommandLine, signal?: AbortSignal): Promise<ToolOutcome> {
    const { run, clock } = this.#options;
    if (run === undefined) throw new Error(`${command.program} cannot be run on this machine`);
    const limitMs = remoteDiskLimits.toolMs;
    try {
      return await withTimeout(clock, limitMs, signal, (limit) => run(command, limit));
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      throw new Error(`${command.program} did not end within ${limitMs / 1000}s`, { cause: error });
    }
  }

  /** The block devices that links in a directory lead to, each once; a link that leads nowhere counts for nothing. */
  async linked(directory: string, isWanted: (name: string) => boolean): Promise<readonly string[]> {
    const { host } = this.#options;
    const devices = new Set<string>();
    for (const name of [...(await namesIn(host, directory))].sort()) {
      if (!isWanted(name)) continue;
      try {
        const device = await host.files.realpath(join(directory, name));
        if ((await host.files.stat(device)).kind === 'block-device') devices.add(device);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
    return [...devices];
  }

  /** The multipath device over any of these; undefined if there is none. */
  async multipath(devices: readonly string[]): Promise<string | undefined> {
    const { host } = this.#options;
    if (devices.length === 0) return undefined;
    const names = new Set(devices.map((device) => basename(device)));
    for (const map of await namesIn(host, sysBlock)) {
      if (!/^dm-[0-9]+$/.test(map)) continue;
      const parts = await namesIn(host, join(sysBlock, map, 'slaves'));
      if (parts.some((part) => names.has(part)) && (await this.#isMultipath(map))) return `/dev/${map}`;
    }
    return undefined;
  }

  /** The multipath device of a disk, or the first of its paths. */
  async deviceOf(paths: () => Promise<readonly string[]>): Promise<string | undefined> {
    const devices = await paths();
    return (await this.multipath(devices)) ?? devices[0];
  }

  /** Waits for a path of a disk, and, if there are several, a while for their multipath device. */
  async untilThere(
    what: string,
    paths: () => Promise<readonly string[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const isThere = async (): Promise<boolean> => (await paths()).length > 0;
    if (!(await this.#until(isThere, remoteDiskLimits.deviceMs, signal))) {
      throw new Error(`${what} has no device after ${remoteDiskLimits.deviceMs / 1000}s`);
    }
    const isJoined = async (): Promise<boolean> => {
      const devices = await paths();
      return devices.length < 2 || (await this.multipath(devices)) !== undefined;
    };
    await this.#until(isJoined, remoteDiskLimits.multipathMs, signal);
  }

  isClaimed(device: string): Promise<boolean> {
    return this.#options.host.blockDevices.isClaimed(device);
  }

  /** Whether the kernel has any iSCSI session. */
  async hasIscsiSessions(): Promise<boolean> {
    return (await namesIn(this.#options.host, '/sys/class/iscsi_session')).length > 0;
  }

  /** Takes down the multipath device over these paths, if any; rejects while something uses it, or one of them. */
  async release(devices: readonly string[]): Promise<void> {
    const map = await this.multipath(devices);
    if (map !== undefined) {
      if (await this.isClaimed(map)) throw new Error(`${map} is still in use`);
      const path = checkedWord(absolutePath, 'the multipath device', map);
      const end = await this.run(CommandLine.of('multipath').optionWord('-f', path));
      if (end.exitCode !== 0) throw new Error(`multipath -f ${map} ended with ${toolText(end)}`);
    }
    for (const device of devices) {
      if (await this.isClaimed(device)) throw new Error(`${device} is still in use`);
    }
  }

  /** Makes the kernel forget a device. */
  remove(device: string): Promise<void> {
    return this.#tell(device, 'delete');
  }

  /** Makes the kernel read the sizes of these devices again, and the multipath device over them follow. */
  async rescan(devices: readonly string[]): Promise<void> {
    for (const device of devices) await this.#tell(device, 'rescan');
    const map = await this.multipath(devices);
    if (map === undefined) return;
    const name = checkedWord(diskWord, 'the multipath device', basename(map));
    const end = await this.run(CommandLine.of('multipathd').literal('resize', 'map').operands(name));
    if (end.exitCode !== 0) throw new Error(`multipathd resize map ${name} ended with ${toolText(end)}`);
  }

  async #tell(device: string, what: 'delete' | 'rescan'): Promise<void> {
    const { host } = this.#options;
    const path = join(sysBlock, checkedWord(diskWord, 'the device', basename(device)), 'device', what);
    try {
      // A file made where there is no disk would help nobody.
      if (await exists(host.files, path)) await host.files.writeFile(path, '1\n');
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async #isMultipath(map: string): Promise<boolean> {
    try {
      const uuid = await this.#options.host.files.readFile(join(sysBlock, map, 'dm/uuid'));
      return Buffer.from(uuid).toString('latin1').startsWith('mpath-');
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Whether the condition came to hold within the limit. */
  async #until(holds: () => Promise<boolean>, limitMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const endMs = clock.monotonic() + limitMs;
    while (!(await holds())) {
      if (clock.monotonic() >= endMs) return false;
      await sleep(clock, lookMs, signal);
    }
    return true;
  }
}

/** How a tool ended, in a line for people. */
export function toolText({ exitCode, output }: ToolOutcome): string {
  const line = output.trim().replaceAll(/\s+/g, ' ');
  const cut = line.length > shownChars ? `${line.slice(0, shownChars)}…` : line;
  return cut === '' ? `${exitCode}` : `${exitCode}: ${cut}`;
}

/** Rethrows what must end an attempt at once. */
export function rethrowCancelled(error: unknown): void {
  if (isCancelled(error)) throw error;
}
