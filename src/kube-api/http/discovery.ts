/** What the API has: its groups, versions and resources, in the older form and in the aggregated one. */
import { apiVersionOf } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';
import type { PostedKind } from '../posted/posted-kinds.js';

interface DiscoveryFacts {
  readonly kinds: readonly ServedKind[];
  /** Kinds that can only be posted, and subresources that are not the object itself. */
  readonly posted: readonly PostedKind[];
  /** `127.0.0.1:6443`. */
  readonly serverAddress: string;
}

interface DiscoveredResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

const objectVerbs = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
] as const;
const subresourceVerbs = ['get', 'patch', 'update'] as const;

export class Discovery {
  readonly #facts: DiscoveryFacts;
  readonly #versions: ReadonlyMap<string, readonly DiscoveredResource[]>;

  constructor(facts: DiscoveryFacts) {
    this.#facts = facts;
    const versions = new Map<string, DiscoveredResource[]>();
    const under = (groupVersion: string): DiscoveredResource[] => {
      const known = versions.get(groupVersion) ?? [];
      versions.set(groupVersion, known);
      return known;
    };
    for (const kind of facts.kinds) under(apiVersionOf(kind.resource)).push(...resourcesOf(kind));
    for (const { groupVersion, ...rest } of facts.posted) under(groupVersion).push(rest);
    this.#versions = versions;
  }

  /** As in `apps/v1`. */
  get groupVersions(): readonly string[] {
    return [...this.#versions.keys()];
  }

  readonly serves = (groupVersion: string, plural: string): boolean =>
    this.#versions.get(groupVersion)?.some(({ name }) => name === plural) === true;

  /** The document of a path; undefined when discovery has none there. */
  at(path: string, isAggregated: boolean): unknown {
    const parts = path.split('/').filter((part) => part !== '');
    const [root, first, second, ...rest] = parts;
    if (rest.length > 0) return undefined;
    if (root === 'api') {
      if (first === undefined)
        return isAggregated ? this.#aggregated((group) => group === '') : this.#coreVersions();
      return second === undefined ? this.#resources(first) : undefined;
    }
    if (root !== 'apis') return undefined;
    if (first === undefined) return isAggregated ? this.#aggregated((group) => group !== '') : this.#groups();
    if (second === undefined) return this.#group(first);
    return this.#resources(`${first}/${second}`);
  }

  #coreVersions(): unknown {
    return {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: this.#facts.serverAddress }],
    };
  }

  #groupVersions(group: string): readonly string[] {
    return [...this.#versions.keys()].filter((one) => groupOf(one) === group);
  }

  #groups(): unknown {
    const groups = new Set([...this.#versions.keys()].map(groupOf).filter((group) => group !== ''));
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [...groups].map((group) => this.#describe(group)),
    };
  }

  #group(group: string): unknown {
    if (this.#groupVersions(group).length === 0) return undefined;
    return { kind: 'APIGroup', apiVersion: 'v1', ...this.#describe(group) };
  }

  #describe(group: string): { name: string; versions: unknown[]; preferredVersion: unknown } {
    const versions = this.#groupVersions(group).map((groupVersion) => ({
      groupVersion,
      version: versionOf(groupVersion),
    }));
    return { name: group, versions, preferredVersion: versions[0] };
  }

  #resources(groupVersion: string): unknown {
    const found = this.#versions.get(groupVersion);
    if (found === undefined) return undefined;
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: found };
  }

  /** All resources of all groups in one document. */
  #aggregated(isWanted: (group: string) => boolean): unknown {
    const groups = new Set([...this.#versions.keys()].map(groupOf).filter(isWanted));
    return {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [...groups].map((group) => ({
        metadata: { name: group, creationTimestamp: null },
        versions: this.#groupVersions(group).map((groupVersion) => ({
          version: versionOf(groupVersion),
          resources: aggregatedResources(groupVersion, this.#versions.get(groupVersion) ?? []),
          freshness: 'Current',
        })),
      })),
    };
  }
}

function aggregatedResources(groupVersion: string, all: readonly DiscoveredResource[]): unknown[] {
  const kindOf = ({ group, version, kind }: DiscoveredResource): unknown => ({
    group: group ?? groupOf(groupVersion),
    version: version ?? versionOf(groupVersion),
    kind,
  });
  return all
    .filter(({ name }) => !name.includes('/'))
    .map((resource) => {
      const subresources = all
        .filter(({ name }) => name.startsWith(`${resource.name}/`))
        .map((one) => ({
          subresource: one.name.slice(resource.name.length + 1),
          responseKind: kindOf(one),
          verbs: one.verbs,
        }));
      return {
        resource: resource.name,
        responseKind: kindOf(resource),
        scope: resource.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: resource.singularName,
        verbs: resource.verbs,
        ...(resource.shortNames === undefined ? {} : { shortNames: resource.shortNames }),
        ...(resource.categories === undefined ? {} : { categories: resource.categories }),
        ...(subresources.length === 0 ? {} : { subresources }),
      };
    });
}

function resourcesOf({
  resource,
  singular,
  shortNames,
  categories,
  subresources,
  verbs,
}: ServedKind): DiscoveredResource[] {
  const { plural, namespaced, kind } = resource;
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs: verbs ?? objectVerbs,
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
    },
    ...subresources.map((name) => ({
      name: `${plural}/${name}`,
      singularName: '',
      namespaced,
      verbs: subresourceVerbs,
      ...(name === 'scale' ? { group: 'autoscaling', version: 'v1', kind: 'Scale' } : { kind }),
    })),
  ];
}

function groupOf(groupVersion: string): string {
  return groupVersion.includes('/') ? (groupVersion.split('/', 1)[0] ?? '') : '';
}

function versionOf(groupVersion: string): string {
  return groupVersion.split('/').at(-1) ?? '';
}
