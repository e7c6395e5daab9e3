/** The pod network of a private containerd: a bridge of its own, and its removal from the machine. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './command.js';
import { natRulesToRemove, unusedHostPortChains } from './nat-rules.js';
import { podNetworkConfiguration } from './pod-network.js';
import { chooseSubnet, formatSubnet, parseRoutes } from './subnets.js';

export interface PrivateNetwork {
  /** Names the bridge, the network and its packet rules; six hexadecimal digits. */
  readonly id: string;
  readonly confDir: string;
  readonly dataDir: string;
}

/** Writes the configuration that containerd picks up; the same network as before when one was written. */
export async function configureNetwork({ id, confDir, dataDir }: PrivateNetwork): Promise<void> {
  await mkdir(confDir, { recursive: true });
  const file = path.join(confDir, '10-nodelet.conflist');
  if (existsSync(file)) return;
  const routes = parseRoutes(await readFile('/proc/net/route', 'utf8'));
  const subnet = formatSubnet(chooseSubnet(routes, Number.parseInt(id, 16)));
  const configuration = podNetworkConfiguration({
    networkName: networkName(id),
    bridge: networkName(id),
    subnet,
    cniDataDir: dataDir,
  });
  await writeFile(file, JSON.stringify(configuration, undefined, 2));
}

/** Removes the bridge and what packet rules are left; the pods' network namespaces must be gone. */
export async function removeNetwork({ id }: Pick<PrivateNetwork, 'id'>): Promise<void> {
  const bridge = networkName(id);
  if (!existsSync(`/sys/class/net/${bridge}`)) return;
  await runCommand('ip', ['link', 'delete', bridge]);
  const { stdout } = await runCommand('iptables-save', ['--table', 'nat']);
  const rules = stdout.split('\n');
  const commands = [...natRulesToRemove(rules, bridge), ...unusedHostPortChains(rules)];
  if (commands.length === 0) return;
  const input = ['*nat', ...commands, 'COMMIT', ''].join('\n');
  await runCommand('iptables-restore', ['--noflush', '--wait', '10'], { input });
}

/** A bridge's name has at most 15 bytes. */
function networkName(id: string): string {
  return `nodelet-${id}`;
}
