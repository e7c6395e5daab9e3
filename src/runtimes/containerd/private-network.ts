/** The pod network of a private containerd: its own bridge, and its removal from the machine. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CommandLine, checkedWord, linkName } from '../../programs/index.js';
import { runCommand } from './command.js';
import { masqueradeCommands, natRulesToRemove, unusedHostPortChains } from './nat-rules.js';
import { changeNatRules } from './nat-table.js';
import { podNetworkConfiguration } from './pod-network.js';
import { chooseSubnet, formatSubnet, parseRoutes, parseSubnet } from './subnets.js';

export interface PrivateNetwork {
  /** Names the bridge, the network and its packet rules; six hexadecimal digits. */
  readonly id: string;
  readonly confDir: string;
  readonly dataDir: string;
}

/** Writes the network configuration for containerd; reuses an existing one. */
export async function configureNetwork({ id, confDir, dataDir }: PrivateNetwork): Promise<void> {
  await mkdir(confDir, { recursive: true });
  const file = path.join(confDir, '10-nodelet.conflist');
  const network = networkName(id);
  const before = existsSync(file) ? await readFile(file, 'utf8') : undefined;
  const subnet = before === undefined ? await freeSubnet(id) : subnetOf(before, file);
  if (before === undefined) {
    const configuration = podNetworkConfiguration({
      networkName: network,
      bridge: network,
      subnet,
      cniDataDir: dataDir,
    });
    await writeFile(file, JSON.stringify(configuration, undefined, 2));
  }
  await changeNatRules((rules) => masqueradeCommands(rules, { networkName: network, subnet }));
}

async function freeSubnet(id: string): Promise<string> {
  const routes = parseRoutes(await readFile('/proc/net/route', 'utf8'));
  return formatSubnet(chooseSubnet(routes, Number.parseInt(id, 16)));
}

function subnetOf(configuration: string, file: string): string {
  const subnet = /"subnet": "([\d./]+)"/.exec(configuration)?.[1];
  if (subnet === undefined)
    throw new Error(`${file} names no pod subnet: remove the file, and a new one is written`);
  return formatSubnet(parseSubnet(subnet));
}

/** Removes the bridge and leftover packet rules; the pods' network namespaces must be gone. */
export async function removeNetwork({ id }: Pick<PrivateNetwork, 'id'>): Promise<void> {
  const bridge = checkedWord(linkName, 'the bridge of the pod network', networkName(id));
  if (existsSync(`/sys/class/net/${bridge}`))
    await runCommand(CommandLine.of('ip').literal('link', 'delete', 'dev').operands(bridge));
  await changeNatRules((rules) => [...natRulesToRemove(rules, bridge), ...unusedHostPortChains(rules)]);
}

/** A bridge's name has at most 15 bytes. */
function networkName(id: string): string {
  return `nodelet-${id}`;
}
