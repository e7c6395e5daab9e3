// Are the pods of a machine that dies started elsewhere, and how long does the cluster take? Needs a kubeconfig ($KUBECONFIG) of
// a cluster for tests, with its controllers and scheduler: npx tsx node-failure.ts
import { connectKubeApi, createHollowNodes, loadKubeconfig, type Pod, resources, systemClock } from 'nodelet';

const replicas = 6;
const patienceMs = 300_000;
const access = await loadKubeconfig(process.env.KUBECONFIG ?? `${process.env.HOME}/.kube/config`);
const connection = connectKubeApi({ clock: systemClock, access, userAgent: 'node-failure' });
const api = connection.client();
const fleet = createHollowNodes({
  api,
  nodes: ['fail-a', 'fail-b', 'fail-c'].map((name) => ({ name, profile: { cpus: 8 } })),
  onProblem: (node, message) => console.error(`${node}: ${message}`),
});

const labels = { app: 'node-failure' };
const deployment = {
  metadata: { name: 'node-failure', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels, annotations: { 'sim.nodelet.dev/start-delay': '1s' } },
      spec: {
        nodeSelector: { 'nodelet.dev/hollow': 'true' },
        terminationGracePeriodSeconds: 1,
        // By default pods stay for five minutes on a node that is gone.
        tolerations: ['unreachable', 'not-ready'].map((reason) => ({
          key: `node.kubernetes.io/${reason}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 2,
        })),
        containers: [{ name: 'app', image: 'registry.example/app:1', resources: { requests: { cpu: '1' } } }],
      },
    },
  },
};

/** The ready pods that nobody has asked to end. */
async function readyPods(): Promise<Pod[]> {
  const { items } = await api.list(resources.pods, {
    namespace: 'default',
    labelSelector: 'app=node-failure',
  });
  return items.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  );
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const startMs = Date.now();
  while (!(await isTrue())) {
    if (Date.now() - startMs > patienceMs) throw new Error(`not within ${patienceMs / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  console.log(`${what}: after ${Math.round((Date.now() - startMs) / 1000)} s`);
}

try {
  await fleet.settled();
  await api.create(resources.deployments, deployment);
  await until(`${replicas} pods are ready`, async () => (await readyPods()).length === replicas);

  const [victim] = await readyPods();
  const dead = victim?.spec.nodeName;
  if (dead === undefined) throw new Error('a ready pod has a node');
  await fleet.kill([dead]);
  console.log(`${dead} is dead`);
  await until(`${replicas} pods are ready on the other nodes`, async () => {
    const ready = await readyPods();
    return ready.length === replicas && ready.every(({ spec }) => spec.nodeName !== dead);
  });

  await fleet.restore([dead]);
  await until(`${dead} is ready again`, async () => {
    const { status } = await api.get(resources.nodes, { name: dead });
    return (
      status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true
    );
  });
} finally {
  await api
    .delete(resources.deployments, deployment.metadata, { propagationPolicy: 'Background' })
    .catch((error: unknown) => console.error(`deployment node-failure was not deleted: ${error}`));
  await fleet.stop({ deletesNodes: true });
  connection.close();
}
