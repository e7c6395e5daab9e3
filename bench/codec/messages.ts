/** Two messages as a node sends and receives them: a list of all containers, and the start of a sandbox. */
import {
  type Container,
  ContainerState,
  type Init,
  type ListContainersResponse,
  NamespaceMode,
  Protocol,
  type RunPodSandboxRequest,
  SecurityProfile_ProfileType,
} from '../../src/cri/index.js';

const listed = 100;
const hexId = (index: number): string => index.toString(16).padStart(4, '0').repeat(16);
const uid = (index: number): string => `7f1c2b9e-0d4a-4c51-9f57-${index.toString(16).padStart(12, '0')}`;

/** What containerd lists for the containers of a kubelet: its labels and annotations come back with each. */
function container(index: number): Init<Container> {
  return {
    id: hexId(index),
    podSandboxId: hexId(index + listed),
    metadata: { name: 'web', attempt: index % 3 },
    image: {
      image: `sha256:${hexId(7)}`,
      userSpecifiedImage: 'registry.example.com/shop/web:1.27.3',
      annotations: {},
    },
    imageRef: `sha256:${hexId(7)}`,
    imageId: `sha256:${hexId(7)}`,
    state: ContainerState.CONTAINER_RUNNING,
    createdAt: 1_789_000_000_123_456_789n + BigInt(index),
    labels: {
      'io.kubernetes.container.name': 'web',
      'io.kubernetes.pod.name': `shop-web-6d4cf56db6-${index}`,
      'io.kubernetes.pod.namespace': 'shop',
      'io.kubernetes.pod.uid': uid(index),
    },
    annotations: {
      'io.kubernetes.container.hash': '5d8c1f2a',
      'io.kubernetes.container.restartCount': String(index % 3),
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': '30',
    },
  };
}

export const containerList: Init<ListContainersResponse> = {
  containers: Array.from({ length: listed }, (_, index) => container(index)),
};

export const sandboxRequest: Init<RunPodSandboxRequest> = {
  config: {
    metadata: { name: 'shop-web-6d4cf56db6-1', uid: uid(1), namespace: 'shop', attempt: 0 },
    hostname: 'shop-web-6d4cf56db6-1',
    logDirectory: `/var/log/pods/shop_shop-web-6d4cf56db6-1_${uid(1)}`,
    dnsConfig: {
      servers: ['10.96.0.10'],
      searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
      options: ['ndots:5'],
    },
    portMappings: [{ protocol: Protocol.TCP, containerPort: 8080, hostPort: 0, hostIp: '' }],
    labels: {
      app: 'web',
      'pod-template-hash': '6d4cf56db6',
      'io.kubernetes.pod.name': 'shop-web-6d4cf56db6-1',
      'io.kubernetes.pod.namespace': 'shop',
      'io.kubernetes.pod.uid': uid(1),
    },
    annotations: {
      'kubernetes.io/config.seen': '2026-01-01T00:00:00.000000000Z',
      'kubernetes.io/config.source': 'api',
    },
    linux: {
      cgroupParent: `/kubepods/burstable/pod${uid(1)}`,
      securityContext: {
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
        },
        seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault, localhostRef: '' },
      },
      overhead: {},
      resources: { cpuPeriod: 100_000, cpuQuota: 50_000, cpuShares: 256, memoryLimitInBytes: 268_435_456 },
    },
  },
};
