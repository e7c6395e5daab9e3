/** A real control plane and the programs that are measured as its nodes, for every bench that needs them. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { startControlPlane } from '../../test/env/control-plane.js';
import { CleanupStack, createTempDir } from '../../test/env/index.js';
import { buildAgent } from '../agent.js';
import type { BenchContext } from '../measure.js';
import { AuditLog } from './audit.js';
import { type ClusterGround, namespace, type Side } from './visit.js';

export async function onControlPlane<T>(
  { note, options }: BenchContext,
  work: (ground: ClusterGround, sides: readonly Side[]) => Promise<T>,
): Promise<T> {
  const cleanups = new CleanupStack();
  try {
    const { path: dir } = await createTempDir('bench', { cleanups });
    const program = launcher(dir, await buildAgent(dir, note));
    const audit = new AuditLog(dir);
    const plane = await startControlPlane({ cleanups, apiServerArgs: audit.apiServerArgs });
    const api = (await plane.connect()).client();
    await makeNamespace(api, plane.pki.authorityPem);
    const { kubelet } = options;
    const nodelet: Side = { name: 'nodelet', program };
    const sides: Side[] =
      kubelet === undefined ? [nodelet] : [nodelet, { name: 'reference', program: kubelet }];
    return await work({ plane, api, audit, note }, sides);
  } finally {
    await cleanups.run();
  }
}

/** With what controllers would give it, so that its pods have the token of an account mounted as nearly all pods do. */
async function makeNamespace(api: KubeApi, authorityPem: string): Promise<void> {
  await api.create(resources.namespaces, { metadata: { name: namespace } });
  await api.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } });
  await api.create(resources.configMaps, {
    metadata: { name: 'kube-root-ca.crt', namespace },
    data: { 'ca.crt': authorityPem },
  });
}

/** Both sides are a program that takes the flags of a kubelet. */
function launcher(dir: string, nodelet: string): string {
  const path = join(dir, 'nodelet-agent');
  writeFileSync(path, `#!/bin/sh\nexec '${nodelet}' agent "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
