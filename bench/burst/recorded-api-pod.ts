/** The very calls by which nodelet starts a pod of the API, recorded once, so that bare calls can start the same pods. */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CriClient, serveCri } from '../../src/cri/index.js';
import { resources } from '../../src/kube-client/index.js';
import { startClusterNode } from '../../test/env/cluster-node.js';
import { CleanupStack, type TestContainerd } from '../../test/env/index.js';
import { PodWatch } from '../cluster/pod-moments.js';
import { type ClusterGround, namespace, type Side } from '../cluster/visit.js';
import { removeAllPods } from '../pods.js';
import { type RecordedPod, recordingRuntime } from '../recorded-pod.js';
import { burstPod } from './pods.js';

const name = 'recorded';
const settleMs = 1_000;

/** Has an agent between the API and this runtime start one pod. What the pod mounts is copied to `dir`. */
export async function recordApiPod(
  { plane, api }: ClusterGround,
  side: Side,
  { containerd, cri, dir }: { containerd: TestContainerd; cri: CriClient; dir: string },
): Promise<RecordedPod> {
  const cleanups = new CleanupStack();
  const { runtime, recorded } = recordingRuntime(cri);
  try {
    const server = await serveCri(runtime, { socketPath: join(dir, 'recorder.sock') });
    cleanups.defer('the recorder', () => server.close());
    const config = { containerRuntimeEndpoint: server.endpoint };
    const kubelet = { cleanups, plane, containerd, name, kubelet: side.program, config, flags: ['--v=0'] };
    const node = await startClusterNode(kubelet);
    await node.ready();
    const watch = new PodWatch(api, namespace);
    cleanups.defer('the watch of pods', () => watch.stop());
    await watch.synced();
    const { metadata } = await api.create(resources.pods, burstPod(name, node.name));
    await watch.allReady([name], () => node.log.slice(-4000));
    const { sandbox, container } = recorded();
    const pod = { name, uid: metadata.uid, sandbox, container: withOwnMounts(container, dir) };
    await api.delete(resources.pods, { namespace, name });
    await watch.allGone([name], () => node.log.slice(-4000));
    await node.stop();
    await sleep(settleMs);
    await removeAllPods(cri);
    return pod;
  } finally {
    await cleanups.run();
    await api.delete(resources.nodes, { name });
  }
}

/** The files are gone with the pod; bare pods share copies of them, which costs the runtime the same. */
function withOwnMounts(container: RecordedPod['container'], dir: string): RecordedPod['container'] {
  const copies = join(dir, 'mounts');
  rmSync(copies, { recursive: true, force: true });
  const mounts = (container.config?.mounts ?? []).map((mount, index) => {
    const { hostPath = '' } = mount;
    const copy = join(copies, String(index), basename(hostPath));
    mkdirSync(join(copies, String(index)), { recursive: true });
    cpSync(hostPath, copy, { recursive: true, verbatimSymlinks: true });
    return { ...mount, hostPath: copy };
  });
  return { ...container, config: { ...container.config, mounts } };
}
