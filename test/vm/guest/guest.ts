/**
 * Runs in the virtual machine: sets up containerd, installs the package and its unit, looks at what nodelet made of its
 * pods, kills it once, removes and installs it again, and powers the machine off. All that the test reads stands below `/payload`.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { complaints, install, isEnabled, journal, uninstall } from './install.js';
import { cniConfig, containerdToml, environmentFile, kubeletConfig, pods, readOnlyPort } from './machine.js';
import { command, run, say, show, until, write } from './programs.js';
import type { CgroupFacts, ContainerFacts, GuestReport } from './report.js';

const cgroupMount = '/sys/fs/cgroup';

interface PodView {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly phase?: string;
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly lastState?: { readonly terminated?: { readonly reason?: string } };
      readonly state?: { readonly terminated?: { readonly reason?: string }; readonly running?: object };
    }[];
  };
}

async function startContainerd(): Promise<void> {
  write('/etc/containerd/config.toml', containerdToml);
  write('/etc/cni/net.d/10-pods.conflist', cniConfig);
  await command('systemctl', 'start', 'containerd.service');
  await until('containerd answers', () => command('ctr', 'version'));
  await command('ctr', '--namespace', 'k8s.io', 'images', 'import', '/payload/images.tar');
  say('containerd has the images');
}

async function startAgent(): Promise<void> {
  mkdirSync('/payload/ends', { recursive: true });
  symlinkSync('/payload/node', '/usr/local/bin/node');
  write('/etc/nodelet/config.yaml', JSON.stringify(kubeletConfig));
  write('/etc/default/nodelet', environmentFile);
  mkdirSync(kubeletConfig.staticPodPath, { recursive: true });
  await install();
  for (const pod of pods) {
    write(join(kubeletConfig.staticPodPath, `${pod.metadata.name}.json`), JSON.stringify(pod));
  }
}

async function asked(path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${readOnlyPort}${path}`);
  if (!response.ok) throw new Error(`${path} is answered with ${response.status}`);
  return response.text();
}

async function listPods(): Promise<readonly PodView[]> {
  const { items }: { items: readonly PodView[] } = JSON.parse(await asked('/pods'));
  return items;
}

/** Undefined until every pod that should run does. */
async function runningContainers(): Promise<Record<string, ContainerFacts> | undefined> {
  const found: Record<string, ContainerFacts> = {};
  const views = await listPods();
  for (const { metadata } of pods) {
    if (metadata.name === 'eats-memory') continue;
    const view = views.find((pod) => pod.metadata.name.startsWith(metadata.name));
    const id = view?.status?.containerStatuses?.[0]?.containerID?.split('//')[1];
    if (view?.status?.phase !== 'Running' || id === undefined) return undefined;
    found[metadata.name] = { id, cgroup: await cgroupOf(id) };
  }
  return found;
}

async function cgroupOf(id: string): Promise<string> {
  const tasks = await command('ctr', '--namespace', 'k8s.io', 'tasks', 'list');
  const pid = tasks
    .split('\n')
    .map((line) => line.split(/\s+/))
    .find(([task]) => task === id)?.[1];
  if (pid === undefined) throw new Error(`containerd has no task ${id}`);
  return readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().replace(/^0::/, '');
}

async function oomReason(): Promise<string | undefined> {
  const view = (await listPods()).find((pod) => pod.metadata.name.startsWith('eats-memory'));
  const status = view?.status?.containerStatuses?.[0];
  return status?.lastState?.terminated?.reason ?? status?.state?.terminated?.reason;
}

const readFiles = [
  'cgroup.controllers',
  'cpu.max',
  'cpu.weight',
  'memory.low',
  'memory.max',
  'memory.min',
  'pids.max',
];

function cgroupFacts(path: string): CgroupFacts {
  const dir = join(cgroupMount, path);
  const files: Record<string, string> = {};
  for (const name of readFiles) {
    try {
      files[name] = readFileSync(join(dir, name), 'utf8').trim();
    } catch {
      // A file that is missing is missing in the report, and the test says so.
    }
  }
  const below = readdirSync(dir).filter((name) => statSync(join(dir, name)).isDirectory());
  return { files, below };
}

/** The cgroup of all pods and all below it, but not those of containers. */
function podCgroups(path: string): Record<string, CgroupFacts> {
  const facts = cgroupFacts(path);
  const slices = facts.below.filter((name) => name.endsWith('.slice'));
  return Object.assign({ [path]: facts }, ...slices.map((name) => podCgroups(`${path}/${name}`)));
}

async function unitsOf(
  cgroups: Record<string, CgroupFacts>,
): Promise<Record<string, Record<string, string>>> {
  const units = ['nodelet.service', ...Object.keys(cgroups).map((path) => path.split('/').at(-1) ?? '')];
  const found: Record<string, Record<string, string>> = {};
  for (const unit of units) found[unit] = await show(unit);
  return found;
}

async function main(): Promise<void> {
  await startContainerd();
  await startAgent();
  const containers = await until('all pods run', runningContainers);
  say('all pods run');
  const reason = await until('a container is killed for its memory', oomReason);
  say(`eats-memory: ${reason}`);
  // Rates take two readings.
  await asked('/stats/summary');
  write('/payload/cadvisor.txt', await asked('/metrics/cadvisor'));
  write('/payload/summary.json', await asked('/stats/summary'));
  say('the statistics are read');
  const unitComplaints = await complaints();
  const enabledBefore = await isEnabled();
  const cgroups = podCgroups('/kubepods.slice');
  const units = await unitsOf(cgroups);
  const fedBefore = (await show('nodelet.service')).WatchdogTimestampMonotonic ?? '';
  await sleep(20_000);
  const fedAfter = (await show('nodelet.service')).WatchdogTimestampMonotonic ?? '';
  const inhibitors = await command('systemd-inhibit', '--list', '--no-pager');
  const firstPid = units['nodelet.service']?.MainPID ?? '';
  process.kill(Number(firstPid), 'SIGKILL');
  say('nodelet is killed');
  const secondPid = await until('systemd starts nodelet again', async () => {
    const { MainPID = '0', ActiveState } = await show('nodelet.service');
    return ActiveState === 'active' && MainPID !== '0' && MainPID !== firstPid ? MainPID : undefined;
  });
  const containersAfterKill = await until('all pods are seen again', runningContainers);
  say('nodelet is back');
  const removal = await uninstall();
  const enabledAfter = await isEnabled();
  await install();
  const containersAfterInstall = await until('all pods are seen once more', runningContainers);
  await until('the agent holds its lock again', async () =>
    kubeletConfig.shutdownGracePeriod === undefined ||
    (await command('systemd-inhibit', '--list', '--no-pager')).includes('kubelet')
      ? true
      : undefined,
  );
  const report: GuestReport = {
    units,
    cgroups,
    containers,
    containersAfterKill,
    watchdogFed: fedBefore !== fedAfter && fedAfter !== '0',
    inhibitors,
    oomReason: reason,
    agentPids: [firstPid, secondPid],
    unitComplaints,
    enabled: [enabledBefore, enabledAfter],
    ...removal,
    containersAfterInstall,
    journal: await journal(),
  };
  write('/payload/results.json', JSON.stringify(report));
  say('the machine goes down');
}

try {
  await main();
} catch (error) {
  console.log(error);
  await run('journalctl', ['--no-pager', '--lines=400']).then(
    ({ stdout }) => write('/payload/journal.log', stdout),
    (unread: unknown) => console.log(unread),
  );
}
await run('sync');
await run('systemctl', ['poweroff', '--no-block']);
