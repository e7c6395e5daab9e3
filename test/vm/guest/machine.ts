/** The settings of the virtual machine: containerd, its pod network, what is added to the agent's unit, its configuration, the pods. */

export const readOnlyPort = 10255;

/** Of the pods that end normally, and of those that end last. */
export const shutdownSeconds = { normal: 40, critical: 40 } as const;

export const containerdToml = `version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "nodelet.test/pause:1"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`;

export const cniConfig = JSON.stringify({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'pods',
      isGateway: true,
      ipam: { type: 'host-local', subnet: '10.88.0.0/24' },
    },
  ],
});

/** What this machine adds to the unit of the package: its program, its logs of pods and its ends of pods are on a disk of the test. */
export const unitDropIn = `[Unit]
RequiresMountsFor=/payload
`;

/** The file that the unit takes further arguments from. */
export const environmentFile = 'NODELET_ARGS=--v=4\n';

export const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  staticPodPath: '/etc/nodelet/manifests',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  readOnlyPort,
  address: '127.0.0.1',
  authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'systemd',
  cgroupsPerQOS: true,
  podPidsLimit: 500,
  systemReserved: { memory: '100Mi', cpu: '100m' },
  evictionHard: {},
  shutdownGracePeriod: `${shutdownSeconds.normal + shutdownSeconds.critical}s`,
  shutdownGracePeriodCriticalPods: `${shutdownSeconds.critical}s`,
};

interface Amounts {
  readonly cpu?: string;
  readonly memory?: string;
}

interface PodChoice {
  readonly name: string;
  readonly uid: string;
  readonly requests?: Amounts;
  readonly limits?: Amounts;
  readonly priority?: number;
  readonly command?: string;
}

/** Notes when it was told to end, and takes a second for it. */
const noted = (name: string): string =>
  `trap 'date +%s > /ends/${name}.told; sleep 1; date +%s > /ends/${name}.ended; exit 0' TERM; while :; do sleep 0.2; done`;

function podOf({ name, uid, requests, limits, priority, command = noted(name) }: PodChoice) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid },
    spec: {
      ...(priority === undefined ? {} : { priority }),
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'app',
          image: 'nodelet.test/busybox:1',
          command: ['sh', '-c', command],
          resources: { ...(requests && { requests }), ...(limits && { limits }) },
          volumeMounts: [{ name: 'ends', mountPath: '/ends' }],
        },
      ],
      volumes: [{ name: 'ends', hostPath: { path: '/payload/ends' } }],
    },
  };
}

export const pods = [
  podOf({
    name: 'guaranteed',
    uid: '11111111-aaaa-4aaa-8aaa-000000000001',
    requests: { cpu: '333m', memory: '64Mi' },
    limits: { cpu: '333m', memory: '64Mi' },
  }),
  podOf({
    name: 'burstable',
    uid: '11111111-aaaa-4aaa-8aaa-000000000002',
    requests: { cpu: '250m', memory: '32Mi' },
  }),
  podOf({ name: 'besteffort', uid: '11111111-aaaa-4aaa-8aaa-000000000003' }),
  podOf({ name: 'critical', uid: '11111111-aaaa-4aaa-8aaa-000000000004', priority: 2_000_001_000 }),
  podOf({
    name: 'eats-memory',
    uid: '11111111-aaaa-4aaa-8aaa-000000000005',
    limits: { memory: '24Mi' },
    command: 'sleep 1; tail /dev/zero',
  }),
];
