/** Brings iSCSI disks to this machine: logs in at their targets, and logs out when the last disk of a session goes. */

import { errorText } from '../../../async/index.js';
import type { CommandLine } from '../../../programs/index.js';
import type { ToolOutcome } from '../disk-format.js';
import type { DiskNetwork, DiskSecret } from './disk-network.js';
import {
  byPathDirectory,
  type IscsiDisk,
  iscsiDeviceName,
  iscsiGlobalName,
  iscsiPluginName,
  iscsiRecord,
  iscsiSource,
  iscsiVolumeOf,
  lunOfLink,
  reviveIscsiDisk,
} from './iscsi-disk.js';
import type { IscsiPortal } from './iscsi-words.js';
import {
  type ChapUse,
  chapSettings,
  discoveryRecord,
  interfaceRecord,
  interfaceSettings,
  iscsiadmExit,
  nodeRecord,
  update,
} from './iscsiadm.js';
import { rethrowCancelled, ScsiDevices, type ScsiDevicesOptions, toolText } from './scsi-devices.js';
import { TargetTurns } from './target-turns.js';

export function iscsiNetwork(options: ScsiDevicesOptions): DiskNetwork<IscsiDisk> {
  const sessions = new IscsiSessions(new ScsiDevices(options));
  return {
    pluginName: iscsiPluginName,
    accepts: (spec) => iscsiSource(spec) !== undefined,
    volumeOf: iscsiVolumeOf,
    deviceName: iscsiDeviceName,
    globalName: iscsiGlobalName,
    record: iscsiRecord,
    revive: reviveIscsiDisk,
    connect: (disk, secret, signal) => sessions.connect(disk, secret, signal),
    find: (disk) => sessions.find(disk),
    rescan: (disk) => sessions.rescan(disk),
    disconnect: (disk, others) => sessions.disconnect(disk, others),
  };
}

class IscsiSessions {
  readonly #devices: ScsiDevices;
  /** A session must not end while another disk of it comes. */
  readonly #turns = new TargetTurns();

  constructor(devices: ScsiDevices) {
    this.#devices = devices;
  }

  find(disk: IscsiDisk): Promise<string | undefined> {
    return this.#devices.deviceOf(() => this.#paths(disk, disk.portals));
  }

  async rescan(disk: IscsiDisk): Promise<void> {
    await this.#devices.rescan(await this.#paths(disk, disk.portals));
  }

  connect(disk: IscsiDisk, secret: DiskSecret | undefined, signal: AbortSignal): Promise<void> {
    return this.#turns.take(disk.iqn, signal, async () => {
      if (disk.initiatorName !== undefined) await this.#copyInterface(disk, signal);
      const problems: string[] = [];
      for (const portal of disk.portals) {
        try {
          await this.#logIn(disk, portal, secret, signal);
        } catch (error) {
          rethrowCancelled(error);
          problems.push(`${portal}: ${errorText(error)}`);
        }
      }
      if (problems.length === disk.portals.length) throw new Error(problems.join('; '));
      const what = `lun ${disk.lun} of ${disk.iqn}`;
      try {
        await this.#devices.untilThere(what, () => this.#paths(disk, disk.portals), signal);
      } catch (error) {
        rethrowCancelled(error);
        throw new Error([errorText(error), ...problems].join('; '), { cause: error });
      }
    });
  }

  disconnect(disk: IscsiDisk, others: () => Promise<readonly IscsiDisk[]>): Promise<void> {
    return this.#turns.take(disk.iqn, undefined, async () => {
      const staying = await others();
      await this.#devices.release(await this.#paths(disk, disk.portals));
      for (const portal of disk.portals) {
        if (await this.#isShared(disk, portal, staying)) {
          for (const device of await this.#paths(disk, [portal])) await this.#devices.remove(device);
        } else {
          await this.#logOut(disk, portal);
        }
      }
      if (disk.initiatorName === undefined) return;
      if (staying.some(({ interfaceName }) => interfaceName === disk.interfaceName)) return;
      await this.#may(interfaceRecord(disk.interfaceName).literal('-o', 'delete'));
    });
  }

  /** The devices of the disk behind these portals. */
  #paths(disk: IscsiDisk, portals: readonly IscsiPortal[]): Promise<readonly string[]> {
    return this.#devices.linked(byPathDirectory, (name) =>
      portals.some((portal) => lunOfLink(name, portal, disk.iqn) === disk.lun),
    );
  }

  /** Whether a session has other disks that are noted, or that someone else uses. */
  async #isShared(disk: IscsiDisk, portal: IscsiPortal, staying: readonly IscsiDisk[]): Promise<boolean> {
    const { iqn, interfaceName, lun } = disk;
    const isNoted = staying.some(
      (other) => other.iqn === iqn && other.interfaceName === interfaceName && other.portals.includes(portal),
    );
    if (isNoted) return true;
    const siblings = await this.#devices.linked(byPathDirectory, (name) => {
      const other = lunOfLink(name, portal, iqn);
      return other !== undefined && other !== lun;
    });
    for (const device of siblings) if (await this.#devices.isClaimed(device)) return true;
    return false;
  }

  async #logIn(
    disk: IscsiDisk,
    portal: IscsiPortal,
    secret: DiskSecret | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const node = nodeRecord(disk, portal);
    if ((await this.#paths(disk, [portal])).length > 0) return;
    // A session that is there already may just not know the disk yet.
    const rescan = await this.#may(node.literal('-R'), signal);
    if (rescan.exitCode === iscsiadmExit.done) return;
    const discovery = discoveryRecord(disk, portal);
    await this.#may(discovery.literal('-o', 'new'), signal);
    if (disk.chapDiscovery)
      await this.#setChap(discovery, 'discovery.sendtargets.auth', secret ?? {}, signal);
    try {
      await this.#must('the discovery of targets', discovery.literal('--discover'), [], signal);
    } catch (error) {
      rethrowCancelled(error);
      await this.#may(discovery.literal('-o', 'delete'), signal);
      throw error;
    }
    try {
      if (disk.chapSession) await this.#setChap(node, 'node.session.auth', secret ?? {}, signal);
      // The machine must not log in by itself when it starts.
      await this.#may(update(node, 'node.startup', 'manual'), signal);
      await this.#must('the login', node.literal('--login'), [iscsiadmExit.sessionExists], signal);
    } catch (error) {
      rethrowCancelled(error);
      await this.#may(node.literal('-o', 'delete'), signal);
      throw error;
    }
  }

  async #logOut(disk: IscsiDisk, portal: IscsiPortal): Promise<void> {
    const node = nodeRecord(disk, portal);
    const { nothingFound, sessionNotFound } = iscsiadmExit;
    try {
      await this.#must('the logout', node.literal('--logout'), [nothingFound, sessionNotFound]);
      await this.#must('forgetting the target', node.literal('-o', 'delete'), [nothingFound]);
    } catch (error) {
      // Where open-iscsi is not installed, or does not run, there may be nothing to log out from.
      if (await this.#devices.hasIscsiSessions()) throw error;
    }
  }

  async #copyInterface(disk: IscsiDisk, signal: AbortSignal): Promise<void> {
    const { givenInterface, interfaceName, initiatorName = '' } = disk;
    const copy = interfaceRecord(interfaceName);
    const given = interfaceRecord(givenInterface).literal('-o', 'show');
    const { output } = await this.#must(`reading the interface ${givenInterface}`, given, [], signal);
    // One that is there already is brought up to date.
    await this.#may(copy.literal('-o', 'new'), signal);
    for (const [name, value] of [
      ...interfaceSettings(output),
      ['iface.initiatorname', initiatorName],
    ] as const) {
      await this.#must(`setting ${name}`, update(copy, name, value), [], signal);
    }
  }

  /** Failures say nothing of the output, which might repeat a password. */
  async #setChap(
    record: ReturnType<typeof nodeRecord>,
    use: ChapUse,
    secret: DiskSecret,
    signal: AbortSignal,
  ): Promise<void> {
    for (const [name, value] of chapSettings(use, secret)) {
      const { exitCode } = await this.#may(update(record, name, value), signal);
      if (exitCode !== 0) throw new Error(`iscsiadm: setting ${name} ended with ${exitCode}`);
    }
  }

  /** Whatever it ends with. */
  #may(command: CommandLine, signal?: AbortSignal): Promise<ToolOutcome> {
    return this.#devices.run(command, signal);
  }

  async #must(
    what: string,
    command: CommandLine,
    alsoFine: readonly number[],
    signal?: AbortSignal,
  ): Promise<ToolOutcome> {
    const end = await this.#may(command, signal);
    if (end.exitCode === iscsiadmExit.done || alsoFine.includes(end.exitCode)) return end;
    throw new Error(`iscsiadm: ${what} ended with ${toolText(end)}`);
  }
}
