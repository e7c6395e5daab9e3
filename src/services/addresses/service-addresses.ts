/** Gives Services their cluster addresses and node ports, and takes them back. */
import type { Service, ServicePort, ServiceSpec } from '../../kube/types/index.js';
import { ipv4Number, ipv4Text, parseIpv4Range } from './ipv4-range.js';
import { NumberPool } from './number-pool.js';

export const defaultClusterCidr = '10.96.0.0/16';
export const nodePortRange = { first: 30_000, last: 32_767 } as const;

/** The Service that every cluster has, and the one of its names; both have fixed addresses. */
export const kubernetesService = 'default/kubernetes';
export const dnsService = 'kube-system/kube-dns';
const kubernetesOffset = 1;
const dnsOffset = 10;
/** A smaller range has no room for the two fixed addresses. */
const smallestRange = 16;

export interface AddressProblem {
  readonly reason: 'Invalid' | 'OutOfRange' | 'Taken' | 'Exhausted';
  /** The field of the Service: `spec.clusterIP`. */
  readonly field: string;
  readonly message: string;
}

/** The fields that the allocation decides; the caller puts them into the Service. */
export interface AssignedAddresses {
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly ports?: readonly ServicePort[];
}

export type AddressAssignment =
  | { readonly ok: true; readonly assigned: AssignedAddresses }
  | { readonly ok: false; readonly problem: AddressProblem };

export class ServiceAddresses {
  readonly kubernetesAddress: string;
  readonly dnsAddress: string;
  readonly clusterCidr: string;
  readonly #addresses: NumberPool;
  readonly #nodePorts: NumberPool;

  constructor(clusterCidr = defaultClusterCidr) {
    const range = parseIpv4Range(clusterCidr);
    if (range === undefined || range.last - range.first + 1 < smallestRange)
      throw new Error(
        `${clusterCidr} is no range of at least ${smallestRange} IPv4 addresses: write 10.96.0.0/16`,
      );
    const { first, last, text } = range;
    this.clusterCidr = text;
    this.kubernetesAddress = ipv4Text(first + kubernetesOffset);
    this.dnsAddress = ipv4Text(first + dnsOffset);
    // Neither the address of the network nor the broadcast address is given.
    this.#addresses = new NumberPool({
      first: first + 1,
      last: last - 1,
      firstChosen: first + keptFree(last - first + 1),
    });
    this.#nodePorts = new NumberPool({ ...nodePortRange, firstChosen: nodePortRange.first + keptFree(2768) });
    this.#reserveFixed();
  }

  /** Gives a new Service what it lacks, all of it or nothing. */
  allocate(service: Service): AddressAssignment {
    return this.update(undefined, service);
  }

  /** Takes what the Service has; the problem says why another one may not have it. */
  reserve(service: Service): AddressProblem | undefined {
    const outcome = this.allocate(service);
    return outcome.ok ? undefined : outcome.problem;
  }

  /** Gives a changed Service what it lacks and takes back what it no longer has; nothing changes on a problem. */
  update(before: Service | undefined, after: Service): AddressAssignment {
    const owner = ownerOf(after);
    const spec = after.spec ?? {};
    const given: (() => void)[] = [];
    const fail = (problem: AddressProblem): AddressAssignment => {
      for (const undo of given) undo();
      return { ok: false, problem };
    };
    const address = this.#address(owner, spec, before?.spec, given);
    if ('reason' in address) return fail(address);
    const ports = this.#ports(owner, spec, before?.spec, given);
    if ('reason' in ports) return fail(ports);
    const assigned = { ...address, ...ports };
    if (before !== undefined) this.#releaseAllBut(before, assigned);
    return { ok: true, assigned };
  }

  release(service: Service): void {
    this.#releaseAllBut(service, {});
  }

  /** Forgets everything and reserves what the Services have; the result names those that cannot keep theirs. */
  rebuild(services: readonly Service[]): ReadonlyMap<string, AddressProblem> {
    this.#addresses.clear();
    this.#nodePorts.clear();
    this.#reserveFixed();
    const problems = new Map<string, AddressProblem>();
    // Who was there first keeps its address.
    const byAge = services.toSorted((a, b) => ageKey(a).localeCompare(ageKey(b), 'en'));
    for (const service of byAge) {
      const problem = this.#keep(service);
      if (problem !== undefined) problems.set(ownerOf(service), problem);
    }
    return problems;
  }

  #reserveFixed(): void {
    for (const [address, owner] of [
      [this.kubernetesAddress, kubernetesService],
      [this.dnsAddress, dnsService],
    ] as const)
      this.#addresses.reserve(ipv4Number(address) ?? 0, owner);
  }

  /** Reserves what a stored Service has and gives it nothing new. */
  #keep(service: Service): AddressProblem | undefined {
    const owner = ownerOf(service);
    const spec = service.spec ?? {};
    let problem: AddressProblem | undefined;
    if (hasClusterAddress(spec) && isSet(spec.clusterIP)) {
      const address = this.#address(owner, spec, undefined, []);
      if ('reason' in address) problem = address;
    }
    for (const [index, { nodePort = 0 }] of (spec.ports ?? []).entries()) {
      if (hasNodePorts(spec) && nodePort > 0) problem ??= this.#reserveNodePort(owner, nodePort, index);
    }
    return problem;
  }

  #address(
    owner: string,
    spec: ServiceSpec,
    before: ServiceSpec | undefined,
    given: (() => void)[],
  ): { clusterIP?: string; clusterIPs?: readonly string[] } | AddressProblem {
    if (spec.type === 'ExternalName') return {};
    if (spec.clusterIP === 'None') return { clusterIP: 'None', clusterIPs: ['None'] };
    const kept = before !== undefined && hasClusterAddress(before) ? before.clusterIP : undefined;
    const wanted = isSet(spec.clusterIP) ? spec.clusterIP : isSet(kept) ? kept : undefined;
    const number = wanted === undefined ? this.#addresses.allocate(owner) : ipv4Number(wanted);
    const field = 'spec.clusterIP';
    if (number === undefined) {
      return wanted === undefined
        ? { reason: 'Exhausted', field, message: `no address of ${this.clusterCidr} is free` }
        : { reason: 'Invalid', field, message: `${shownValue(wanted)} is no IPv4 address and not "None"` };
    }
    if (wanted !== undefined) {
      const present = this.#addresses.ownerOf(number);
      if (!this.#addresses.has(number))
        return { reason: 'OutOfRange', field, message: `${wanted} is not in ${this.clusterCidr}` };
      if (!this.#addresses.reserve(number, owner))
        return { reason: 'Taken', field, message: `${wanted} belongs to the Service ${present}` };
      if (present === undefined) given.push(() => this.#addresses.release(number, owner));
    } else given.push(() => this.#addresses.release(number, owner));
    const clusterIP = ipv4Text(number);
    return { clusterIP, clusterIPs: [clusterIP] };
  }

  #ports(
    owner: string,
    spec: ServiceSpec,
    before: ServiceSpec | undefined,
    given: (() => void)[],
  ): { ports?: readonly ServicePort[] } | AddressProblem {
    if (!hasNodePorts(spec) || spec.ports === undefined) return {};
    const ports: ServicePort[] = [];
    for (const [index, port] of spec.ports.entries()) {
      const wanted = port.nodePort || keptNodePort(port, before);
      if (wanted === undefined) {
        const nodePort = this.#nodePorts.allocate(owner, useOf(port));
        if (nodePort === undefined)
          return { reason: 'Exhausted', field: fieldOf(index), message: 'no node port is free' };
        given.push(() => this.#nodePorts.release(nodePort, owner));
        ports.push({ ...port, nodePort });
        continue;
      }
      // One number may serve TCP and UDP of one Service.
      if (ports.some((other) => other.nodePort === wanted && protocolOf(other) === protocolOf(port)))
        return { reason: 'Taken', field: fieldOf(index), message: `node port ${wanted} is there twice` };
      const isNew = this.#nodePorts.ownerOf(wanted) === undefined;
      const problem = this.#reserveNodePort(owner, wanted, index);
      if (problem !== undefined) return problem;
      if (isNew) given.push(() => this.#nodePorts.release(wanted, owner));
      ports.push({ ...port, nodePort: wanted });
    }
    return { ports };
  }

  #reserveNodePort(owner: string, nodePort: number, index: number): AddressProblem | undefined {
    const field = fieldOf(index);
    if (!this.#nodePorts.has(nodePort)) {
      const { first, last } = nodePortRange;
      return { reason: 'OutOfRange', field, message: `${nodePort} is not between ${first} and ${last}` };
    }
    if (this.#nodePorts.reserve(nodePort, owner)) return undefined;
    const taker = this.#nodePorts.ownerOf(nodePort);
    return { reason: 'Taken', field, message: `node port ${nodePort} belongs to the Service ${taker}` };
  }

  #releaseAllBut(service: Service, kept: AssignedAddresses): void {
    const owner = ownerOf(service);
    const { clusterIP = '', ports = [] } = service.spec ?? {};
    const number = ipv4Number(clusterIP);
    const isFixed = clusterIP === this.kubernetesAddress || clusterIP === this.dnsAddress;
    if (number !== undefined && clusterIP !== kept.clusterIP && !isFixed)
      this.#addresses.release(number, owner);
    const keptPorts = new Set(kept.ports?.map(({ nodePort }) => nodePort));
    for (const { nodePort = 0 } of ports) {
      if (!keptPorts.has(nodePort)) this.#nodePorts.release(nodePort, owner);
    }
  }
}

/** How many numbers at the start of a range stay free for those who ask for one: at most 256, as Kubernetes has it. */
function keptFree(size: number): number {
  return size < 32 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256);
}

export function hasClusterAddress({ type, clusterIP }: ServiceSpec): boolean {
  return type !== 'ExternalName' && clusterIP !== 'None';
}

export function hasNodePorts({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}

/** The port keeps its number when a client sends the Service without it, as `kubectl apply` does. */
function keptNodePort(port: ServicePort, before: ServiceSpec | undefined): number | undefined {
  if (before === undefined || !hasNodePorts(before)) return undefined;
  const same = before.ports?.find(
    (other) => other.port === port.port && protocolOf(other) === protocolOf(port),
  );
  return same?.nodePort || undefined;
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

function protocolOf({ protocol = 'TCP' }: ServicePort): string {
  return protocol;
}

function useOf(port: ServicePort): string {
  return `${protocolOf(port)}/${port.port}`;
}

function fieldOf(index: number): string {
  return `spec.ports[${index}].nodePort`;
}

function ownerOf({ metadata: { namespace = '', name = '' } }: Service): string {
  return `${namespace}/${name}`;
}

function ageKey(service: Service): string {
  return `${service.metadata.creationTimestamp ?? ''} ${ownerOf(service)}`;
}

function shownValue(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
