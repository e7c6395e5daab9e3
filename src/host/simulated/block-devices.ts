/** The disks of a simulated machine. */
import type { HostBlockDevices } from '../host.js';
import { attachLoopCommand, detachLoopCommand, loopFailure } from '../loop-command.js';
import type { MakeCall } from './faults.js';
import type { SimulatedMachine } from './machine.js';
import type { MountedNode } from './nodes.js';

export function simulatedBlockDevices(make: MakeCall, machine: SimulatedMachine): HostBlockDevices {
  return {
    loops: () =>
      make('list loops', '/dev', false, () =>
        [...machine.loops].map(([device, position]) => ({ device, file: machine.pathOf(position) })),
      ),
    attachLoop: async (file) => {
      const command = attachLoopCommand(file);
      await make('losetup', file, true, () => {
        let position: MountedNode;
        try {
          position = machine.resolve(file, true);
        } catch {
          throw refused('failed to set up loop device: No such file or directory');
        }
        const { kind } = position.node.content;
        if (kind !== 'file' && kind !== 'block-device')
          throw refused('failed to set up loop device: Invalid argument');
        machine.attachLoop(position);
      });
      function refused(words: string): Error {
        const output = `losetup: ${file}: ${words}\n`;
        return loopFailure(file, command, { status: 'exit status 1', exitCode: 1, output, timedOut: false });
      }
    },
    detachLoop: async (device) => {
      detachLoopCommand(device);
      await make('losetup -d', device, true, () => machine.detachLoop(device));
    },
    // Claims of disks by others are not simulated; a mount of a disk is one.
    isClaimed: (device) =>
      make('claim', device, false, () =>
        machine.mounts.some(({ root }) => root.fs.source === device && root.fs.type !== 'tmpfs'),
      ),
  };
}
