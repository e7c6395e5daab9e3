/** What the kernel shows of a simulated machine. */
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';

export const rootDir = '/var/lib/kubelet';
export const deviceDirectory = `${rootDir}/device-plugins`;

export async function machineFiles(): Promise<SimulatedMachine> {
  const machine = new SimulatedMachine();
  const { files } = simulatedHost({ machine });
  const write = async (path: string, text: string): Promise<void> => {
    await files.mkdir(path.slice(0, path.lastIndexOf('/')), { recursive: true });
    await files.writeFile(path, text);
  };
  await write('/proc/meminfo', 'MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\nSwapTotal: 0 kB\n');
  await write('/sys/devices/system/cpu/online', '0-7\n');
  await write('/etc/machine-id', '5ea1f0cec0ffee5ea1f0cec0ffee0001\n');
  await write('/etc/os-release', 'PRETTY_NAME="Simulated"\n');
  for (let cpu = 0; cpu < 8; cpu++) {
    const topology = `/sys/devices/system/node/node0/cpu${cpu}/topology`;
    await write(`${topology}/core_id`, `${cpu}\n`);
    await write(`${topology}/physical_package_id`, '0\n');
  }
  await write('/sys/devices/system/node/node0/meminfo', 'Node 0 MemTotal: 16777216 kB\n');
  await files.mkdir('/var/lib', { recursive: true });
  machine.settle();
  return machine;
}
