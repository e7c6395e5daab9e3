import { describe, expect, it } from 'vitest';
import { simulatedHost } from '../../host/index.js';
import { containerRuntimeVersion, countCpuList, kubernetesArchitecture, osImageOf } from './facts.js';
import { readMachineFacts, readPlatformFacts } from './read.js';

it.each([
  ['v2.1.0', 'containerd://2.1.0'],
  ['2.1.0-rc.1+meta', 'containerd://2.1.0-rc.1+meta'],
  ['1.7', 'containerd://1.7'],
  ['v1.7~ds1', 'containerd://1.7'],
  [undefined, 'containerd://Unknown'],
])('version %s is reported as %s', (version, expected) => {
  expect(containerRuntimeVersion('containerd', version)).toBe(expected);
});

it.each([
  ['0-3', 4],
  ['0', 1],
  ['0-1,4-5,8', 5],
  ['', undefined],
])('the CPU list %s has %s', (text, expected) => {
  expect(countCpuList(text)).toBe(expected);
});

it.each([
  ['NAME=x\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n', 'Debian GNU/Linux 13 (trixie)'],
  ['PRETTY_NAME=Plain\n', 'Plain'],
  ['NAME=x\n', 'Linux'],
])('%j is %s', (text, expected) => {
  expect(osImageOf(text)).toBe(expected);
});

it("uses Kubernetes' names of architectures", () => {
  expect([kubernetesArchitecture('x64'), kubernetesArchitecture('arm64')]).toEqual(['amd64', 'arm64']);
});

describe('reading a machine', () => {
  it('from its files', async () => {
    const { files } = simulatedHost();
    const write = async (file: string, content: string): Promise<void> => {
      await files.mkdir(file.replace(/\/[^/]+$/, ''), { recursive: true });
      await files.writeFile(file, content);
    };
    await write('/proc/meminfo', 'MemTotal:       1024 kB\nSwapTotal:      10 kB\n');
    await write('/sys/devices/system/cpu/online', '0-7\n');
    await write('/var/lib/dbus/machine-id', 'abc\n');
    await write('/proc/sys/kernel/random/boot_id', 'boot\n');
    await write('/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', '3\n');
    await write('/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages', '0\n');
    await write('/usr/lib/os-release', 'PRETTY_NAME="X"\n');
    expect(await readMachineFacts({ files, rootDir: '/r', filesystemBytes: async () => 7 })).toEqual({
      cpus: 8,
      memoryBytes: 1024 * 1024,
      swapBytes: 10 * 1024,
      hugePages: [
        { pageSizeBytes: 2 * 2 ** 20, pages: 3 },
        { pageSizeBytes: 2 ** 30, pages: 0 },
      ],
      rootFilesystemBytes: 7,
      machineId: 'abc',
      systemUuid: '',
      bootId: 'boot',
    });
    expect(await readPlatformFacts(files, '6.1')).toMatchObject({ kernelVersion: '6.1', osImage: 'X' });
  });
});
