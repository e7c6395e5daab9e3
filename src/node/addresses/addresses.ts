/** Decides which addresses a node has. */
import type { IpFamily, NodeAddress } from '../../kube/index.js';
import { parseIp } from '../../kube/index.js';
import { type NetworkFacts, nodeIpProblem, routedAddress } from './local-ip.js';
import { isUnspecified } from './node-ip.js';

export const providedNodeIpAnnotation = 'alpha.kubernetes.io/provided-node-ip';

export interface AddressSettings {
  readonly nodeName: string;
  /** As given by `--node-ip`. */
  readonly nodeIps: readonly string[];
  readonly externalCloud: boolean;
}

export interface AddressInput {
  readonly settings: AddressSettings;
  readonly existing: readonly NodeAddress[];
  readonly network: NetworkFacts;
  /** The addresses that the node's name resolves to; empty if it does not or need not. */
  readonly resolved: readonly string[];
}

export interface AddressOutcome {
  /** The annotation that tells a cloud the wanted address; undefined to remove it. */
  readonly providedNodeIp: string | undefined;
  readonly result:
    | { readonly kind: 'addresses'; readonly addresses: readonly NodeAddress[] }
    /** The addresses stay unchanged. */
    | { readonly kind: 'problem'; readonly message: string };
}

/** Whether the decision needs the name resolved. */
export function needsLookup({ nodeName, nodeIps, externalCloud }: AddressSettings): boolean {
  return !externalCloud && specificIps(nodeIps).length === 0 && parseIp(nodeName) === undefined;
}

export function nodeAddresses(input: AddressInput): AddressOutcome {
  const { nodeIps, externalCloud } = input.settings;
  const specific = specificIps(nodeIps);
  const providedNodeIp = externalCloud && specific.length > 0 ? specific.join(',') : undefined;
  return { providedNodeIp, result: decide(input, specific) };
}

function decide(input: AddressInput, specific: readonly string[]): AddressOutcome['result'] {
  const { settings, existing, network } = input;
  const [first, second] = specific;
  for (const [ip, field] of [
    [first, 'nodeIP'],
    [second, 'secondaryNodeIP'],
  ] as const) {
    const problem = ip === undefined ? undefined : nodeIpProblem(ip, network);
    if (problem !== undefined) return { kind: 'problem', message: `failed to validate ${field}: ${problem}` };
  }
  if (settings.externalCloud) {
    // Once the cloud's controller has set addresses, they win.
    if (existing.length > 0) return { kind: 'addresses', addresses: existing };
    if (first === undefined) return withIps(settings.nodeName, []);
  }
  if (first !== undefined && second !== undefined) return withIps(settings.nodeName, [first, second]);
  const chosen = first === undefined ? chooseIp(input) : { ip: first };
  if ('problem' in chosen) {
    return {
      kind: 'problem',
      message: `can't get ip address of node ${settings.nodeName}. error: ${chosen.problem}`,
    };
  }
  return withIps(settings.nodeName, [chosen.ip]);
}

function chooseIp({
  settings,
  network,
  resolved,
}: AddressInput): { readonly ip: string } | { readonly problem: string } {
  const named = parseIp(settings.nodeName);
  if (named !== undefined) return { ip: named.text };
  const preferred: IpFamily = settings.nodeIps[0] === '::' ? 6 : 4;
  const usable = resolved
    .filter((ip) => nodeIpProblem(ip, network) === undefined)
    .flatMap((ip) => parseIp(ip) ?? []);
  const found = usable.find(({ family }) => family === preferred) ?? usable[0];
  return found === undefined ? routedAddress(network, preferred) : { ip: found.text };
}

function withIps(hostname: string, ips: readonly string[]): AddressOutcome['result'] {
  const addresses = ips.map((address) => ({ type: 'InternalIP', address }));
  return { kind: 'addresses', addresses: [...addresses, { type: 'Hostname', address: hostname }] };
}

function specificIps(nodeIps: readonly string[]): string[] {
  return nodeIps.filter((ip) => !isUnspecified(ip));
}
