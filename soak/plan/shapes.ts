/** The kinds of pods that a soak makes: what each is made of, and what becomes of it when it is left alone. */
import type { Container, PodManifest, PodSpec } from '../../src/kube/index.js';

export const shapeNames = [
  'plain',
  'crash',
  'job',
  'retry',
  'probed',
  'unhealthy',
  'inits',
  'volumes',
  'objects',
  'csi',
  'slow-stop',
  'pulled',
  'no-image',
  'host-port',
] as const;

export type ShapeName = (typeof shapeNames)[number];

/** What a pod comes to: it runs and is ready, it ends well, or it never comes to rest. */
export type Destiny = 'runs' | 'succeeds' | 'unsteady';

export interface PlannedPod {
  readonly name: string;
  readonly shape: ShapeName;
  /** Differs between pods of a shape: delays, ports, claims. */
  readonly variant: number;
  /** Goes up with every change of the pod. */
  readonly revision: number;
}

/** What the plan does not know: the places and images of this run. */
export interface ShapeGround {
  readonly busybox: string;
  readonly pulledImage: string;
  readonly csiDriver: string;
  /** A directory of the machine in which every start of a container leaves a line. */
  readonly startsDir: string;
  /** A directory of the machine for pods to write to. */
  readonly sharedDir: string;
}

/** How many claims of the driver there are; a pod takes one by its variant. */
export const claimCount = 4;
export const settingsName = 'soak-settings';
export const secretName = 'soak-secret';
const firstHostPort = 32_000;
const hostPorts = 500;

export function destinyOf(shape: ShapeName): Destiny {
  switch (shape) {
    case 'crash':
    case 'unhealthy':
    case 'no-image':
      return 'unsteady';
    case 'job':
    case 'retry':
      return 'succeeds';
    case 'plain':
    case 'probed':
    case 'inits':
    case 'volumes':
    case 'objects':
    case 'csi':
    case 'slow-stop':
    case 'pulled':
    case 'host-port':
      return 'runs';
  }
}

/** Whether a client can expect a container that runs in it. */
export function takesClients(shape: ShapeName): boolean {
  return destinyOf(shape) === 'runs';
}

const forever = `trap 'exit 0' TERM; sleep 1000000 & wait`;
const shell = (script: string): string[] => ['sh', '-c', script];
/** Leaves a line in the file of this container of this pod. */
const noted = (container: string, script: string): string[] =>
  shell(`echo . >> /starts/$POD_UID.${container}; ${script}`);

export function manifestOf(pod: PlannedPod, ground: ShapeGround): PodManifest {
  const spec = specOf(pod, ground);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, namespace: 'default', labels: { soak: pod.shape } },
    spec: {
      terminationGracePeriodSeconds: 3,
      automountServiceAccountToken: false,
      ...spec,
      volumes: [{ name: 'starts', hostPath: { path: ground.startsDir } }, ...(spec.volumes ?? [])],
    },
  };
}

function specOf({ shape, variant, revision }: PlannedPod, ground: ShapeGround): PodSpec {
  const container = (name: string, script: string, more: Partial<Container> = {}): Container => ({
    name,
    image: ground.busybox,
    command: noted(name, script),
    env: [
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: 'REVISION', value: String(revision) },
      ...(more.env ?? []),
    ],
    ...without(more, 'env', 'volumeMounts'),
    volumeMounts: [{ name: 'starts', mountPath: '/starts' }, ...(more.volumeMounts ?? [])],
  });
  const one = (script: string, more: Partial<Container> = {}): Pick<PodSpec, 'containers'> => ({
    containers: [container('app', script, more)],
  });
  const httpd = `mkdir -p /tmp/www && echo ok > /tmp/www/index.html && httpd -p 8080 -h /tmp/www; ${forever}`;
  switch (shape) {
    case 'plain':
      return {
        containers: [
          container('app', `while true; do echo line; sleep 20; done & ${forever}`, {
            resources: { requests: { cpu: '10m', memory: '8Mi' }, limits: { cpu: '500m', memory: '64Mi' } },
          }),
          container('echo', `nc -ll -p 9000 -e cat & ${forever}`),
        ],
      };
    case 'crash':
      return one(`sleep ${1 + (variant % 3)}; exit ${1 + (variant % 5)}`);
    case 'job':
      return { restartPolicy: 'Never', ...one(`sleep ${variant % 3}; echo done`) };
    case 'retry':
      return {
        restartPolicy: 'OnFailure',
        ...one(`[ $(wc -l < /starts/$POD_UID.app) -gt 2 ] || exit 3; echo done`),
      };
    case 'probed':
      return one(httpd, {
        startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 60 },
        readinessProbe: { httpGet: { path: '/index.html', port: 8080 }, periodSeconds: 2, timeoutSeconds: 5 },
        livenessProbe: {
          exec: { command: ['true'] },
          periodSeconds: 3,
          timeoutSeconds: 10,
          failureThreshold: 10,
        },
      });
    case 'unhealthy':
      return one(forever, {
        livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 3 },
      });
    case 'inits':
      return {
        initContainers: [
          container('first', 'sleep 0.2'),
          container('sidecar', forever, { restartPolicy: 'Always' }),
          container('second', 'true'),
        ],
        ...one(forever),
      };
    case 'volumes':
      return {
        volumes: [
          { name: 'disk', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
          { name: 'host', hostPath: { path: ground.sharedDir } },
          {
            name: 'all',
            projected: {
              sources: [
                { configMap: { name: settingsName } },
                { secret: { name: secretName } },
                { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
              ],
            },
          },
        ],
        ...one(`echo x > /disk/file; echo x > /memory/file; cat /all/name; ${forever}`, {
          volumeMounts: [
            { name: 'disk', mountPath: '/disk' },
            { name: 'disk', mountPath: '/part', subPath: 'a/b' },
            { name: 'memory', mountPath: '/memory' },
            { name: 'host', mountPath: '/host' },
            { name: 'all', mountPath: '/all' },
          ],
        }),
      };
    case 'objects':
      return {
        volumes: [
          { name: 'settings', configMap: { name: settingsName } },
          { name: 'secret', secret: { secretName } },
        ],
        ...one(`cat /settings/version /secret/version; ${forever}`, {
          env: [
            { name: 'SETTING', valueFrom: { configMapKeyRef: { name: settingsName, key: 'version' } } },
            { name: 'SECRET', valueFrom: { secretKeyRef: { name: secretName, key: 'version' } } },
          ],
          volumeMounts: [
            { name: 'settings', mountPath: '/settings' },
            { name: 'settings', mountPath: '/one', subPath: 'version' },
            { name: 'secret', mountPath: '/secret' },
          ],
        }),
      };
    case 'csi':
      return {
        volumes: [
          { name: 'claimed', persistentVolumeClaim: { claimName: `soak-${variant % claimCount}` } },
          { name: 'inline', csi: { driver: ground.csiDriver } },
        ],
        ...one(`echo x >> /claimed/file; echo x > /inline/file; ${forever}`, {
          volumeMounts: [
            { name: 'claimed', mountPath: '/claimed' },
            { name: 'inline', mountPath: '/inline' },
          ],
        }),
      };
    case 'slow-stop':
      return {
        terminationGracePeriodSeconds: 2 + (variant % 4),
        ...one(`trap '' TERM; while true; do sleep 1; done`, {
          lifecycle: {
            postStart: { exec: { command: ['true'] } },
            preStop: { exec: { command: ['sleep', '1'] } },
          },
        }),
      };
    case 'pulled':
      return one(forever, { image: ground.pulledImage, imagePullPolicy: 'Always' });
    case 'no-image':
      return one(forever, { image: `${ground.pulledImage}-missing`, imagePullPolicy: 'Always' });
    case 'host-port':
      return one(`nc -ll -p 9000 -e cat & ${forever}`, {
        ports: [{ containerPort: 9000, hostPort: firstHostPort + (variant % hostPorts) }],
      });
  }
}

function without<T extends object, K extends keyof T>(from: T, ...keys: readonly K[]): Omit<T, K> {
  const rest = { ...from };
  for (const key of keys) delete rest[key];
  return rest;
}
