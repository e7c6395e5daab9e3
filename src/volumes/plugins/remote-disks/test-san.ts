/** A simulated storage network for tests: iSCSI targets behind a simulated iscsiadm, Fibre Channel disks, multipath. */
import type { Clock } from '../../../async/index.js';
import { type SimulatedHost, type SimulatedMachine, simulatedHost } from '../../../host/index.js';
import type { CommandLine } from '../../../programs/index.js';
import type { ToolOutcome } from '../disk-format.js';
import type { RunTool } from '../disk-tools.js';

const done: ToolOutcome = { exitCode: 0, output: '' };
const ended = (exitCode: number, output = 'iscsiadm: failed'): ToolOutcome => ({ exitCode, output });

interface SimulatedDisk {
  readonly name: string;
  readonly link: string;
  /** The session that it came by; undefined for Fibre Channel. */
  readonly session: string | undefined;
}

/** Everything that is not the kubelet: it outlasts its death. */
export class TestSan {
  readonly sessions = new Set<string>();
  readonly records = new Map<string, Map<string, string>>();
  readonly interfaces = new Map<string, Map<string, string>>([
    ['default', new Map([['iface.transport_name', 'tcp']])],
  ]);
  readonly formatted = new Set<string>();
  /** Words of every command, for tests of what a program sees. */
  readonly commands: string[][] = [];
  /** Numbers of the disks of each target. */
  luns = [0, 1];
  /** Portals that do not respond. */
  readonly deadPortals = new Set<string>();
  password: string | undefined;
  hasMultipath = false;
  readonly #outside: SimulatedHost;
  readonly #disks = new Map<string, SimulatedDisk>();
  #next = 1;
  #isInstalled = true;

  constructor(readonly machine: SimulatedMachine) {
    this.#outside = simulatedHost({ machine });
  }

  async begin(): Promise<void> {
    const { files } = this.#outside;
    for (const dir of ['/dev/disk/by-path', '/dev/disk/by-id', '/sys/block', '/sys/class/iscsi_session']) {
      await files.mkdir(dir, { recursive: true });
    }
  }

  /** From now on there is no iscsiadm. */
  uninstall(): void {
    this.#isInstalled = false;
  }

  get disks(): string[] {
    return [...this.#disks.keys()].sort();
  }

  /** The tools of the machine, as a process of its own runs them: it can die before and after each. */
  tools(process: SimulatedHost): RunTool {
    return async (command, signal) => {
      if (signal.aborted) throw new Error('aborted');
      // A change that a test can make the process die at.
      await process.files.chmod('/sys', 0o755);
      const end = await this.#run(command);
      await process.files.chmod('/sys', 0o755);
      return end;
    };
  }

  /** Does what the kernel does when someone writes to its files. */
  async settle(): Promise<void> {
    for (const [name, disk] of this.#disks) {
      const text = Buffer.from(await this.#outside.files.readFile(`/sys/block/${name}/device/delete`));
      if (text.toString() === '1\n') await this.#remove(disk);
    }
  }

  async add(link: string, session?: string): Promise<string> {
    const { files } = this.#outside;
    const name = `sd${String.fromCharCode(97 + this.#next++)}`;
    this.machine.makeSpecialFile(`/dev/${name}`, 'block-device');
    await files.symlink(`/dev/${name}`, link);
    await files.mkdir(`/sys/block/${name}/device`, { recursive: true });
    for (const file of ['delete', 'rescan']) await files.writeFile(`/sys/block/${name}/device/${file}`, '');
    this.#disks.set(name, { name, link, session });
    return name;
  }

  async join(map: string, parts: readonly string[]): Promise<void> {
    const { files } = this.#outside;
    await files.mkdir(`/sys/block/${map}/slaves`, { recursive: true });
    await files.mkdir(`/sys/block/${map}/dm`, { recursive: true });
    await files.writeFile(`/sys/block/${map}/dm/uuid`, 'mpath-3600\n');
    for (const part of parts) await files.mkdir(`/sys/block/${map}/slaves/${part}`);
    this.machine.makeSpecialFile(`/dev/${map}`, 'block-device');
  }

  /** A machine that was switched off has no sessions and no disks; records are on its disk. */
  async reboot(): Promise<void> {
    this.machine.reboot();
    for (const disk of [...this.#disks.values()]) await this.#remove(disk);
    for (const session of [...this.sessions]) await this.#end(session);
  }

  async #run(command: CommandLine): Promise<ToolOutcome> {
    const { program, words } = command;
    this.commands.push([program, ...words]);
    await this.settle();
    const device = words.at(-1) ?? '';
    switch (program) {
      case 'blkid':
        return this.formatted.has(device) ? { exitCode: 0, output: 'TYPE=ext4\n' } : ended(2, '');
      case 'mkfs.ext4':
        this.formatted.add(device);
        return done;
      case 'fsck':
      case 'resize2fs':
      case 'multipathd':
        return done;
      case 'multipath':
        await this.#unjoin(device.replace('/dev/', ''));
        return done;
      case 'iscsiadm':
        if (!this.#isInstalled) throw new Error('cannot run iscsiadm: no such program (ENOENT)');
        return this.#iscsiadm(words);
      default:
        throw new Error(`no program ${program}`);
    }
  }

  async #iscsiadm(words: readonly string[]): Promise<ToolOutcome> {
    const after = (option: string): string => words[words.indexOf(option) + 1] ?? '';
    const has = (option: string): boolean => words.includes(option);
    const [mode, portal, iqn, iface] = [after('-m'), after('-p'), after('-T'), after('-I')];
    const value = words.find((word) => word.startsWith('--value='))?.slice('--value='.length) ?? '';
    if (mode === 'iface') {
      const record = this.interfaces.get(iface);
      if (after('-o') === 'new') this.interfaces.set(iface, new Map());
      if (after('-o') === 'delete') this.interfaces.delete(iface);
      if (after('-o') === 'update') record?.set(after('-n'), value);
      if (after('-o') === 'show' && record === undefined) return ended(21);
      return { exitCode: 0, output: [...(record ?? [])].map(([k, v]) => `${k} = ${v}`).join('\n') };
    }
    if (mode === 'discoverydb') {
      if (!has('--discover')) return done;
      return this.deadPortals.has(portal) ? ended(4, 'cannot connect') : done;
    }
    const key = `${portal} ${iqn} ${iface}`;
    if (has('-R')) {
      if (!this.sessions.has(key)) return ended(21);
      await this.#show(key, portal, iqn);
      return done;
    }
    if (has('--login')) {
      if (this.sessions.has(key)) return ended(15);
      if (this.password !== undefined) {
        if (this.records.get(key)?.get('node.session.auth.password') !== this.password) return ended(24);
      }
      this.records.set(key, this.records.get(key) ?? new Map());
      this.sessions.add(key);
      await this.#outside.files.writeFile(this.#sessionPath(key), '');
      await this.#show(key, portal, iqn);
      return done;
    }
    if (has('--logout')) {
      if (!this.sessions.has(key)) return ended(21);
      for (const disk of [...this.#disks.values()]) if (disk.session === key) await this.#remove(disk);
      await this.#end(key);
      return done;
    }
    if (after('-o') === 'delete') return this.records.delete(key) ? done : ended(21);
    if (after('-o') === 'update') {
      const record = this.records.get(key) ?? new Map<string, string>();
      this.records.set(key, record.set(after('-n'), value));
    }
    return done;
  }

  async #show(session: string, portal: string, iqn: string): Promise<void> {
    for (const lun of this.luns) {
      const link = `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-${lun}`;
      if (![...this.#disks.values()].some((disk) => disk.link === link)) await this.add(link, session);
    }
    const ways = [...this.#disks.values()].filter(({ link }) => link.endsWith(`${iqn}-lun-0`));
    if (this.hasMultipath && ways.length > 1) {
      await this.join(
        'dm-0',
        ways.map(({ name }) => name),
      );
    }
  }

  async #remove({ name, link }: SimulatedDisk): Promise<void> {
    const { files } = this.#outside;
    this.#disks.delete(name);
    await files.unlink(link);
    await files.unlink(`/dev/${name}`);
    for (const file of ['delete', 'rescan']) await files.unlink(`/sys/block/${name}/device/${file}`);
    await files.rmdir(`/sys/block/${name}/device`);
    await files.rmdir(`/sys/block/${name}`);
  }

  async #unjoin(map: string): Promise<void> {
    const { files } = this.#outside;
    for (const part of await files.readdir(`/sys/block/${map}/slaves`)) {
      await files.rmdir(`/sys/block/${map}/slaves/${part}`);
    }
    await files.unlink(`/dev/${map}`);
  }

  async #end(session: string): Promise<void> {
    this.sessions.delete(session);
    await this.#outside.files.unlink(this.#sessionPath(session));
  }

  #sessionPath(key: string): string {
    return `/sys/class/iscsi_session/${Buffer.from(key).toString('hex')}`;
  }
}

/** A clock on which waiting takes no time. */
export function hastyClock(): Clock {
  let nowMs = 0;
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    setTimer: (delayMs, fire) => {
      // Limits of minutes never end the work of a test.
      if (delayMs > 60_000) return { cancel: () => {} };
      const timer = setImmediate(() => {
        nowMs += delayMs;
        fire();
      });
      return { cancel: () => clearImmediate(timer) };
    },
  };
}
