/** The pod network of one containerd: a bridge of its own made by CNI, and its removal from the host. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { natRulesToRemove, unusedHostPortChains } from '../../src/runtimes/containerd/nat-rules.js';
import { changeNatRules } from '../../src/runtimes/containerd/nat-table.js';
import { podNetworkConfiguration } from '../../src/runtimes/containerd/pod-network.js';
import {
  chooseSubnet,
  formatSubnet,
  parseRoutes,
  parseSubnet,
} from '../../src/runtimes/containerd/subnets.js';
import { runCommand } from './command.js';
import { type ContainerdLayout, listLayouts } from './layout.js';
import { withLock } from './lock.js';
import { pollUntil } from './poll.js';
import { ifThere, removeIfEmpty } from './vanishing.js';

/** Where Debian's package has the plugins. */
export const cniBinDir = '/usr/lib/cni';
/** Where CNI notes what it did for each sandbox; the place is fixed in containerd. */
const cniResultsDir = '/var/lib/cni/results';
const configurationName = '10-nodelet.conflist';

/** Takes a pod subnet for this instance, for as long as its directory exists. */
export function reserveSubnet(layout: ContainerdLayout): Promise<string> {
  return withLock('subnets', async () => {
    const routes = parseRoutes(readFileSync('/proc/net/route', 'utf8'));
    const others = listLayouts()
      .map(({ subnetFile }) => ifThere(() => readFileSync(subnetFile, 'utf8')))
      .filter((subnet) => subnet !== undefined)
      .map(parseSubnet);
    const subnet = formatSubnet(chooseSubnet([...routes, ...others], Number.parseInt(layout.id, 16)));
    writeFileSync(layout.subnetFile, subnet);
    return subnet;
  });
}

/** Gives containerd a pod network, set up as its own documentation has it; it notices by itself. */
export function writeCniConfiguration(layout: ContainerdLayout, subnet: string): void {
  const configuration = podNetworkConfiguration({ ...layout, subnet, masqueradePods: true });
  writeFileSync(join(layout.cniConfDir, configurationName), JSON.stringify(configuration, undefined, 2));
}

/** Takes the pod network away, as on a node whose network add-on is not there yet. */
export function removeCniConfiguration(layout: ContainerdLayout): void {
  rmSync(join(layout.cniConfDir, configurationName), { force: true });
}

/** Removes the links and packet rules of this instance; the pods' network namespaces must be gone. */
export async function removeNetwork(layout: ContainerdLayout): Promise<void> {
  const ports = ifThere(() => readdirSync(`/sys/class/net/${layout.bridge}/brif`)) ?? [];
  if (linkExists(layout.bridge)) {
    await runCommand('ip', ['link', 'delete', layout.bridge]);
  }
  // The host's end of a pod's link goes with the pod's network namespace, a moment after its last user.
  await pollUntil(`the links of ${layout.bridge} go`, () => (ports.some(linkExists) ? undefined : true), {
    timeoutMs: 20_000,
    detail: () => ports.filter(linkExists).join(', '),
  });
  await changeNatRules((rules) => natRulesToRemove(rules, layout.networkName));
}

function linkExists(name: string): boolean {
  return existsSync(`/sys/class/net/${name}`);
}

/** Removes what CNI noted about this instance's sandboxes. */
export function removeCniResults(layout: ContainerdLayout): void {
  for (const name of ifThere(() => readdirSync(cniResultsDir)) ?? []) {
    const path = join(cniResultsDir, name);
    // Only the network namespace's path tells whose sandbox it was: the loopback network has one name for all.
    if (ifThere(() => readFileSync(path, 'utf8'))?.includes(`"${layout.state}/`)) {
      rmSync(path, { force: true });
    }
  }
}

/** Removes what instances share on the host, when no instance is left to use it. */
export async function removeSharedNetwork(): Promise<void> {
  await changeNatRules(unusedHostPortChains);
  if (removeIfEmpty(cniResultsDir)) {
    removeIfEmpty(dirname(cniResultsDir));
  }
}
