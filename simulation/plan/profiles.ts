/** What kinds of lives there are: how often each act comes, and what pods are like. */

export interface Profile {
  /** Relative to each other, by the name of the act; faults by their port. */
  readonly weights: Readonly<Record<string, number>>;
  /** How many acts there are at least and at most. */
  readonly steps: readonly [number, number];
  /** The longest pause between two acts. */
  readonly pauseMs: number;
  /** How many names of pods are in use at most. */
  readonly names: number;
  readonly volumes: number;
  readonly probes: number;
  /** How many lives have the managers, and how many pods of such a life something of them. */
  readonly cpuManager: number;
  readonly devices: number;
  readonly csi: number;
  readonly eviction: number;
}

const users = { create: 20, delete: 12, edit: 5, resize: 2, config: 2, manifest: 6 };
const machine = { exit: 8, 'kill-sandbox': 2, 'break-events': 2, stop: 1, die: 3 };
const plugins = { 'device-plugin-away': 2, 'device-health': 3, 'csi-driver-away': 2 };
const pressure = { pressure: 3 };
const usual = {
  steps: [40, 140],
  pauseMs: 4_000,
  names: 15,
  volumes: 0.3,
  probes: 0.2,
  cpuManager: 0.3,
  devices: 0.3,
  csi: 0.3,
  eviction: 0.1,
} as const;

export const profiles = {
  /** Pods come and go, and processes die; ports do what they are asked. */
  churn: { ...usual, weights: { ...users, ...machine, ...plugins, ...pressure } },
  runtime: {
    ...usual,
    weights: {
      ...users,
      ...machine,
      cri: 25,
      'forget-container': 2,
      'forget-sandbox': 1,
      'invent-container': 1,
      'runtime-away': 3,
      'network-away': 1,
    },
  },
  api: {
    ...usual,
    weights: { ...users, ...machine, api: 25, 'api-away': 3, 'cut-watches': 3, 'end-watches': 2, compact: 2 },
  },
  disk: { ...usual, volumes: 0.7, weights: { ...users, ...machine, host: 25, 'disk-full': 3 } },
  crash: { ...usual, weights: { ...users, exit: 5, die: 25, stop: 5 } },
  reboot: { ...usual, volumes: 0.5, weights: { ...users, ...machine, reboot: 5, jump: 5 } },
  /** What only one pod may have: CPUs, devices, volumes and ports, with plugins that fail. */
  scarce: {
    ...usual,
    cpuManager: 0.8,
    devices: 0.8,
    csi: 0.8,
    weights: { ...users, ...machine, ...plugins, device: 10, csi: 15, host: 2, cri: 2, die: 10, reboot: 1 },
  },
  eviction: { ...usual, eviction: 1, weights: { ...users, ...machine, die: 6, pressure: 15 } },
  /** All of it. */
  storm: {
    ...usual,
    weights: {
      ...users,
      ...machine,
      ...plugins,
      ...pressure,
      device: 3,
      csi: 5,
      cri: 8,
      api: 8,
      host: 8,
      'forget-container': 1,
      'forget-sandbox': 1,
      'invent-container': 1,
      'runtime-away': 1,
      'network-away': 1,
      'api-away': 1,
      'cut-watches': 1,
      compact: 1,
      'disk-full': 1,
      reboot: 1,
      jump: 1,
    },
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof profiles;
