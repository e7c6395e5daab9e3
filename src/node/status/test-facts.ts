/** A node and its observations, for this room's tests. */
import type { MachineInfo } from '../machine/facts.js';
import { type CapacitySettings, noDevices } from './capacity.js';
import type { StatusFacts, StatusSettings } from './facts.js';

export const gibibyte = 2 ** 30;

export const testMachine: MachineInfo = {
  cpus: 4,
  memoryBytes: 8 * gibibyte,
  swapBytes: 0,
  hugePages: [],
  rootFilesystemBytes: 100 * gibibyte,
  machineId: 'm1',
  systemUuid: 's1',
  bootId: 'b1',
};

export const testCapacity: CapacitySettings = {
  systemReserved: {},
  kubeReserved: {},
  evictionHard: {},
  maxPods: 110,
  podsPerCore: 0,
  localStorageCapacityIsolation: true,
};

export const testSettings: StatusSettings = {
  addresses: { nodeName: 'n1', nodeIps: [], externalCloud: false },
  capacity: testCapacity,
  kubeletVersion: 'v1.37.1',
  port: 10250,
  maxImages: 50,
  declaredFeatures: ['B', 'A'],
  runningInUserNamespace: false,
};

export function testFacts(facts: Partial<StatusFacts> = {}): StatusFacts {
  return {
    nowMs: Date.UTC(2026, 0, 1),
    network: {
      addresses: [{ interface: 'eth0', address: '10.0.0.5', isLoopbackInterface: false }],
      routed: { 4: ['eth0'], 6: [] },
    },
    resolved: [],
    machine: testMachine,
    platform: { kernelVersion: '6.18.0', osImage: 'Test Linux', architecture: 'amd64' },
    devices: noDevices,
    runtime: { name: 'containerd', version: 'v2.1.0', handlers: [], features: undefined },
    images: [],
    pressure: { memory: false, disk: false, pid: false },
    readiness: {
      runtimeErrors: [],
      networkError: undefined,
      storageError: undefined,
      shutdownError: undefined,
      softRequirementFailed: false,
    },
    volumesInUse: undefined,
    ...facts,
  };
}
