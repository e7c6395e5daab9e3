/** The names of the cluster as an index: which records each has, which names exist, and what is asked elsewhere. */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { Endpoint, EndpointSlice, Pod, Service } from '../../kube/types/index.js';
import { type Ipv4Range, isInRange } from '../addresses/ipv4-range.js';
import { readiness, slicesByService } from '../proxy/frontends.js';
import {
  type DnsName,
  type DnsQuestion,
  type DnsRecord,
  nameKey,
  nameOf,
  type RecordData,
  recordType,
} from './message.js';
import { isWritableName } from './names.js';

export interface ZoneObjects {
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly Pod[];
}

export interface ZoneSettings {
  /** `cluster.local` */
  readonly domain: string;
  readonly dnsAddress: string;
  readonly clusterRange: Ipv4Range;
}

export type ZoneFinding =
  /** The name is none of the cluster's. */
  | { readonly kind: 'outside' }
  /** There is no such name. */
  | { readonly kind: 'no-name'; readonly authority: readonly DnsRecord[] }
  /** The records of the asked type; none of them when the name has only others. */
  | {
      readonly kind: 'records';
      readonly answers: readonly DnsRecord[];
      readonly authority: readonly DnsRecord[];
      readonly additional: readonly DnsRecord[];
    }
  /** The name stands for another one. */
  | { readonly kind: 'alias'; readonly answers: readonly DnsRecord[]; readonly target: DnsName };

/** As long as clients may keep an answer: endpoints change quickly. */
const ttlSeconds = 5;
/** The version of the names, RFC-like: what is here and what it looks like. */
const schemaVersion = '1.1.0';
const plainLabel = /^[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?$/i;

export class Zone {
  readonly #domain: DnsName;
  readonly #domainKey: string;
  readonly #clusterRange: Ipv4Range;
  readonly #soa: DnsRecord;
  /** Every name that exists, those between included, with its records. */
  readonly #names = new Map<string, DnsRecord[]>();

  constructor({ services, slices, pods }: ZoneObjects, { domain, dnsAddress, clusterRange }: ZoneSettings) {
    this.#domain = nameOf(domain);
    this.#domainKey = nameKey(this.#domain);
    this.#clusterRange = clusterRange;
    const server = ['ns', 'dns', ...this.#domain];
    const mailbox = ['hostmaster', ...this.#domain];
    this.#soa = record(this.#domain, {
      type: 'SOA',
      primary: server,
      mailbox,
      serial: 1,
      negativeSeconds: ttlSeconds,
    });
    this.#add(this.#domain, this.#soa.data);
    this.#add(this.#domain, { type: 'NS', target: server });
    this.#add(server, addressData(dnsAddress));
    this.#add(['dns-version', ...this.#domain], { type: 'TXT', text: schemaVersion });
    this.#exists(['svc', ...this.#domain]);
    this.#exists(['pod', ...this.#domain]);
    const slicesOf = slicesByService(slices);
    for (const service of services) {
      const { namespace = '', name = '' } = service.metadata;
      if (isLabel(namespace) && isLabel(name))
        this.#addService(service, slicesOf.get(`${namespace}/${name}`) ?? []);
    }
    for (const pod of pods) this.#addPod(pod);
  }

  get size(): number {
    return this.#names.size;
  }

  find({ name, type }: DnsQuestion): ZoneFinding {
    const key = nameKey(name);
    const records = this.#names.get(key);
    if (records === undefined) {
      return this.#isOurs(name, key) ? { kind: 'no-name', authority: [this.#soa] } : { kind: 'outside' };
    }
    const alias = records.find(({ data }) => data.type === 'CNAME');
    // The records carry the name as it was asked, as resolvers that vary its case expect.
    const asked = (found: readonly DnsRecord[]): DnsRecord[] => found.map((one) => ({ ...one, name }));
    if (alias?.data.type === 'CNAME' && type !== recordType.CNAME && type !== recordType.ANY)
      return { kind: 'alias', answers: asked([alias]), target: alias.data.target };
    const answers = records.filter(({ data }) => type === recordType.ANY || recordType[data.type] === type);
    const authority = answers.length === 0 ? [this.#soa] : [];
    return { kind: 'records', answers: asked(answers), authority, additional: this.#targetsOf(answers) };
  }

  /** The addresses of the servers that SRV records name. */
  #targetsOf(answers: readonly DnsRecord[]): DnsRecord[] {
    const targets = new Map<string, DnsName>();
    for (const { data } of answers) if (data.type === 'SRV') targets.set(nameKey(data.target), data.target);
    return [...targets.keys()].flatMap((key) =>
      (this.#names.get(key) ?? []).filter(({ data }) => data.type === 'A' || data.type === 'AAAA'),
    );
  }

  #isOurs(name: DnsName, key: string): boolean {
    if (key === this.#domainKey || key.endsWith(`.${this.#domainKey}`)) return true;
    // The reverse names of all cluster addresses, taken or not.
    const [d, c, b, a, ...rest] = name;
    return nameKey(rest) === 'in-addr.arpa' && isInRange(this.#clusterRange, [a, b, c, d].join('.'));
  }

  #addService(service: Service, slices: readonly EndpointSlice[]): void {
    const { metadata, spec = {} } = service;
    const name = [metadata.name ?? '', metadata.namespace ?? '', 'svc', ...this.#domain];
    if (spec.type === 'ExternalName') {
      const target = nameOf((spec.externalName ?? '').replace(/\.$/, ''));
      if (target.length > 0 && isWritableName(target)) this.#add(name, { type: 'CNAME', target });
      return;
    }
    this.#exists(name);
    if (spec.clusterIP === 'None') {
      this.#addHeadless(name, slices);
      return;
    }
    const addresses = new Set([spec.clusterIP ?? '', ...(spec.clusterIPs ?? [])]);
    for (const address of addresses) {
      if (isIP(address) === 0) continue;
      this.#add(name, addressData(address));
      this.#addReverse(address, name);
    }
    for (const { name: port = '', protocol = 'TCP', port: number } of spec.ports ?? [])
      this.#addServer(name, port, protocol, number, name);
  }

  /** Names without an address of their own: those of the ready pods behind them. */
  #addHeadless(service: DnsName, slices: readonly EndpointSlice[]): void {
    for (const { endpoints = [], ports = [] } of slices) {
      for (const endpoint of endpoints) {
        const [address = ''] = endpoint.addresses;
        if (readiness(endpoint) !== 'ready' || isIP(address) === 0) continue;
        const own = [hostOf(endpoint, address), ...service];
        this.#add(service, addressData(address));
        this.#add(own, addressData(address));
        if (endpoint.hostname !== undefined) this.#addReverse(address, own);
        for (const { name: port = '', protocol = 'TCP', port: number = 0 } of ports)
          this.#addServer(service, port, protocol, number, own);
      }
    }
  }

  #addServer(service: DnsName, port: string, protocol: string, number: number, target: DnsName): void {
    if (!isLabel(port) || !isLabel(protocol) || !(number > 0 && number < 65_536)) return;
    const name = [`_${port}`, `_${protocol.toLowerCase()}`, ...service];
    this.#add(name, { type: 'SRV', priority: 0, weight: 100, port: number, target });
  }

  #addReverse(address: string, target: DnsName): void {
    if (isIPv4(address))
      this.#add([...address.split('.').reverse(), 'in-addr', 'arpa'], { type: 'PTR', target });
  }

  /** `10-1-0-7.shop.pod.cluster.local` */
  #addPod({ metadata, status }: Pod): void {
    const { namespace } = metadata;
    const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
    if (isOver || !isLabel(namespace)) return;
    const ips = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP === undefined ? [] : [status.podIP]);
    for (const ip of ips)
      if (isIP(ip) !== 0) this.#add([dashed(ip), namespace, 'pod', ...this.#domain], addressData(ip));
  }

  #add(name: DnsName, data: RecordData): void {
    if (!isWritableName(name)) return;
    const records = this.#exists(name);
    if (data.type === 'A' || data.type === 'AAAA') {
      const isKnown = records.some((one) => 'address' in one.data && one.data.address === data.address);
      if (isKnown) return;
    }
    records.push(record(name, data));
  }

  /** The records of a name, which exists from now on with all names above it up to the domain. */
  #exists(name: DnsName): DnsRecord[] {
    const key = nameKey(name);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const records: DnsRecord[] = [];
    this.#names.set(key, records);
    if (key !== this.#domainKey && key.endsWith(`.${this.#domainKey}`)) this.#exists(name.slice(1));
    return records;
  }
}

function record(name: DnsName, data: RecordData): DnsRecord {
  return { name, ttlSeconds, data };
}

function addressData(address: string): RecordData {
  return { type: isIPv6(address) ? 'AAAA' : 'A', address };
}

/** The pod's own host name, or one made of its address. */
function hostOf({ hostname = '' }: Endpoint, address: string): string {
  return isLabel(hostname) ? hostname : dashed(address);
}

function dashed(address: string): string {
  return address.replace(/[.:]/g, '-');
}

function isLabel(text: string): boolean {
  return plainLabel.test(text);
}
